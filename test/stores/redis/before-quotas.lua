local KEYS,ARGV=KEYS,ARGV
local call,az,tonumber=redis.call,redis.pcall,tonumber
local pack,unpack,sub,format=struct.pack,struct.unpack,string.sub,string.format
local ceil,floor,max,min=math.ceil,math.floor,math.max,math.min
local c=tonumber(ARGV[1])
local T=not c
if T then
local I=call('TIME')
c=I[1]*1000+floor(I[2]/1000)
end
local R,ai,aj,N,al=1,'<Bd','<dddds',9007199254740991,9007199254740944
local am,u,E={T and c or ARGV[1]},1,0
local an=nil
local o,aK=tonumber(ARGV[2]),#ARGV
while o<aK do
local z,aL,ar=ARGV[o],tonumber(ARGV[o+1]),tonumber(ARGV[o+2])
local q,e=tonumber(ARGV[o+3]),tonumber(ARGV[o+4])
local L=z=='c'and ar==1 and ARGV[q]=='1'and e and e>0
local X,U,aC,i,as
if L then
local C,d=tonumber(ARGV[q+2]),tonumber(ARGV[q+4])
i,as=tonumber(ARGV[q+3]),e*d
X=pack('<dds',i,d,ARGV[q+1])
U=25+#X
aC=e<=C and C*d-as or-1
end
for _=1,aL do
local Y=nil
if L then
local h=KEYS[E+1]
local l=az('GET',h)
local b,k=nil,0
if not l then
b=0
elseif#l==U and sub(l,26)==X then
local J,K,A,p=unpack('<Bddd',l)
if J==R and K%1==0 and A>0 and A<al and A%1==0 and p<=c and p%1==0 then
k,b=K,A-i*(c-p)
if b<0 then b=0 end
end
end
if not b then
elseif b>aC then
Y=-1-b
elseif T then
Y=b
local w=b+as
local n=ceil(w/i)
if c+n<=k then
call('SETRANGE',h,'9',pack('<dd',w,c))
else
k=c+n+max(10000,min(n,60000))
call('SET',h,pack('<Bddd',R,k,w,c)..X,'PXAT',format('%.0f',k))
end
end
end
if Y then
u=u+1
am[u]=Y
else
if not an then
local pcall,ax=pcall,'!'
local function aG(ay,aa,F)
local U,ab=floor(ay/F),ay%F
local t,r=0,0
local M=4503599627370496
while M>=1 do
t=t*2
if r>=F-r then
t=t+1
r=r-(F-r)
else
r=r*2
end
if aa>=M then
aa=aa-M
t=t+U
if r>=F-ab then
t=t+1
r=r-(F-ab)
else
r=r+ab
end
end
if t>N then return N end
M=M/2
end
if r>0 then t=t+1 end
return min(t,N)
end
local function ac(B)
return B>0 and B<=N and B%1==0
end
local function ad(a,h)
local j=a.j
a.O,a.k=true,0
a.b,a.f={},{}
a.P=false
a.ae,a.af='',0
a.ag,a.x='',0
a.Q=0
for g=1,#j do a.b[g],a.f[g]=0,0 end
local l=az('GET',h)
if not l then return end
local ah,J,k,q=pcall(unpack,ai,l)
if not ah or J~=R or k%1~=0 then a.O=false return end
a.k=k
while q<=#l do
local ah,b,p,i,d,v,w=pcall(unpack,aj,l,q)
if not ah or not(ac(b)and ac(i)and ac(d)and p%1==0)then a.O=false return end
local S=nil
for g=1,#j do
if j[g].v==v then S=g end
end
if S then
local m=j[S]
local f=p-c
if i~=m.i or d~=m.d or f>m.n then
a.P=a.P or{}
table.insert(a.P,m)
end
if f<0 then b=b+i*f end
if f<0 or f>m.n then f=0 end
if b>0 then
if d~=m.d then b=aG(b,m.d,d)end
a.b[S],a.f[S]=b,f
end
elseif v==ax then
local f=p-c
if b+f>0 then
a.ag,a.Q=sub(l,q,w-1),b+f
a.x=f>b and b or b+f
end
else
local G=p-c+ceil(b/i)
if G>0 then a.ae=a.ae..sub(l,q,w-1)end
if G>a.af then a.af=G end
end
q=w
end
end
local function ak(a,h,e)
local j,V,n=a.j,a.ae..a.ag,max(a.af,a.Q)
for g=#j,1,-1 do
local m=j[g]
local b,f=a.b[g]+(e[g]or 0)*m.d,a.f[g]
if b>0 then
V=pack(aj,b,c+f,m.i,m.d,m.v)..V
local G=f+ceil(b/m.i)
if G>n then n=G end
end
end
if n==0 then
call('DEL',h)
elseif T and c+n<=a.k and a.k<=c+n+60000 then
call('SET',h,pack(ai,R,a.k)..V,'KEEPTTL')
else
local y=n+max(10000,min(n,60000))
local l=pack(ai,R,c+y)..V
if T then
call('SET',h,l,'PXAT',format('%.0f',c+y))
else
call('SET',h,l,'PX',format('%.0f',y+3600000))
end
end
end
local function aA(a,y)
a.ag,a.Q=y>0 and pack(aj,y,c,1,1,ax)or'',y
end
local function W(B)
if B>al or B<-al then return format('%.0f',B)end
return B
end
local function aH(a,u,z)
local j,x=a.j,a.x
local D=a.O and(z=='a'or x==0)
for g=1,#j do
local m,e,b=j[g],a.e[g],a.b[g]
if z=='a'then
if b+e*m.d>N then D=false end
elseif e>m.C or(e>0 and b>m.C*m.d-e*m.d)then
D=false
end
end
for g=1,#j do
local b,f=a.b[g],a.f[g]
b=W(D and b or-1-b)
if x>0 then
b={b,W(f),W(x)}
elseif f>0 then
b={b,W(f)}
end
am[u+g]=a.O and b
end
return D
end
local H,aB={},nil
local function aI(o)
H,aB={},o
for s=1,tonumber(ARGV[o+2])do
local j,q,e={},tonumber(ARGV[o+1+2*s]),{}
for aJ in string.gmatch(ARGV[o+2+2*s],'[^,]+')do table.insert(e,tonumber(aJ))end
for g=1,tonumber(ARGV[q])do
local p=q+4*g-3
local v,C,i,d=ARGV[p],tonumber(ARGV[p+1]),tonumber(ARGV[p+2]),tonumber(ARGV[p+3])
j[g]={v=v,C=C,i=i,d=d,n=ceil(C*d/i)}
e[g]=e[g]or e[1]
end
H[s]={j=j,e=e}
end
end
an=function(o,E,u)
if aB~=o then aI(o)end
local z,ao=ARGV[o],true
for s=1,#H do
local a=H[s]
ad(a,KEYS[E+s])
ao=aH(a,u,z)and ao
u=u+#a.j
end
for s=1,#H do
local a,h=H[s],KEYS[E+s]
if z=='d'then
call('DEL',h)
elseif not a.O or z=='p'then
elseif z=='x'then
local ap={j={}}
ad(ap,h)
local y=a.e[1]
aA(ap,y>0 and max(a.x,y)or 0)
ak(ap,h,{})
elseif ao then
ak(a,h,a.e)
elseif z=='c'and(a.P or a.Q>2*a.x)then
local aq={j=a.P or{}}
ad(aq,h)
if a.Q>2*a.x then aA(aq,a.x)end
ak(aq,h,{})
end
end
return u
end
end
u=an(o,E,u)
end
E=E+ar
end
o=o+3+2*ar
end
return am