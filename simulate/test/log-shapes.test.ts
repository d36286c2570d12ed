// Lines of real servers, proxies, platforms and loggers. Each row names the page where its shape was seen. The values are
// examples.
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { expect, test } from "vitest";
import { runSimulate } from "../src/run.js";

const SHAPES: ReadonlyArray<readonly [file: string, args: readonly string[], counts: string, seenAt: string]> = [
  ["nginx-forwarded.log", ["--format", "$http_x_forwarded_for [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\"", "--key", "http_x_forwarded_for"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/78"],
  ["nginx-upstream-time.log", ["--format", "log_format upstream_time '$remote_addr - $remote_user [$time_local] ' '\"$request\" $status $body_bytes_sent ' '\"$http_referer\" \"$http_user_agent\"' 'rt=$request_time uct=\"$upstream_connect_time\" uht=\"$upstream_header_time\" urt=\"$upstream_response_time\"';", "--key", "address", "--cost", "request_time*1000"], "3 requests of 2 callers", "github.com/NginxProxyManager/nginx-proxy-manager/issues/714"],
  ["nginx-proxy-manager.log", ["--format", "[$time_local] $upstream_cache_status $upstream_status $status - $request_method $scheme $host \"$request_uri\" [Client $remote_addr] [Length $body_bytes_sent] [Gzip $gzip_ratio] [Sent-to $server] \"$http_user_agent\" \"$http_referer\"", "--key", "remote_addr"], "3 requests of 2 callers", "github.com/matomo-org/matomo-log-analytics/issues/345"],
  ["ingress-nginx.log", ["--format", "$remote_addr - [$the_real_ip] - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\" $request_length $request_time [$proxy_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time $upstream_status", "--key", "the_real_ip"], "3 requests of 2 callers", "github.com/nielsbasjes/logparser/issues/51"],
  ["nginx-json.log", ["--key", "nginx.remote_addr", "--time", "nginx.time_local"], "3 requests of 2 callers", "github.com/histovec/histovec-beta/pull/533"],
  ["nginx-json-that-is-none.log", ["--format", "{\"time\": $time_local, \"request_id\": $request_id, \"http_x_forwarded_for\": $http_x_forwarded_for, \"remote_addr\": \"$remote_addr\", \"status\": $status}", "--key", "http_x_forwarded_for"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/2499"],
  ["nginx-binary-request.log", ["--key", "address"], "3 requests of 2 callers", "github.com/Kong/kong/issues/4621"],
  ["apache-vhost-combined.log", ["--key", "address"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/218"],
  ["apache-proxy.log", ["--format", "LogFormat \"%{X-Forwarded-For}i %l %u %t %P \\\"%r\\\" %>s %b \\\"%{Referer}i\\\" \\\"%{User-Agent}i\\\" %D\" proxy", "--key", "X-Forwarded-For"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/857"],
  ["apache-forwarded-and-host.log", ["--format", "%{X-Forwarded-For}i %h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"", "--key", "%h"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/1193"],
  ["apache-host-and-forwarded.log", ["--format", "%h %{X-Forwarded-For}i %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"", "--key", "X-Forwarded-For"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/1352"],
  ["apache-without-request.log", ["--key", "address"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/857"],
  ["host-names.log", ["--key", "address"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/1973"],
  ["iis.log", ["--key", "c-ip"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/713"],
  ["iis-advanced-logging.log", ["--key", "address"], "3 requests of 2 callers", "github.com/matomo-org/matomo-log-analytics/issues/43"],
  ["netscaler.log", ["--key", "address"], "3 requests of 2 callers", "github.com/matomo-org/matomo-log-analytics/issues/9"],
  ["cloudfront.log", ["--key", "c-ip", "--cost", "sc-bytes"], "3 requests of 2 callers", "github.com/matomo-org/matomo-log-analytics/issues/27"],
  ["cloudfront-without-head.log", ["--format", "cloudfront", "--key", "address"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/1830"],
  ["cloudfront-real-time.log", ["--format", "$timestamp\\t$c_ip\\t$time_to_first_byte\\t$sc_status\\t$sc_bytes\\t$cs_method", "--key", "c_ip"], "3 requests of 2 callers", "github.com/elastic/integrations/issues/6219"],
  ["haproxy-http.log", ["--format", "haproxy", "--key", "address"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/374"],
  ["haproxy-tcp.log", ["--format", "haproxy", "--key", "client_ip", "--cost", "bytes_read"], "3 requests of 2 callers", "github.com/observIQ/stanza-plugins/pull/335"],
  ["haproxy-clf.log", ["--key", "address"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/36"],
  ["caddy.log", ["--format", "caddy", "--key", "address"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/2601"],
  ["caddy-2.4.log", ["--format", "caddy", "--key", "address", "--cost", "bytes"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/2308"],
  ["caddy-start.log", ["--format", "caddy", "--key", "address"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/2054"],
  ["traefik-common.log", ["--format", "traefik", "--key", "address", "--cost", "bytes"], "3 requests of 2 callers", "github.com/traefik/traefik/pull/3942"],
  ["traefik-json.log", ["--format", "traefik", "--key", "address", "--cost", "bytes"], "3 requests of 2 callers", "github.com/xavier-hernandez/goaccess-for-nginxproxymanager/issues/108"],
  ["envoy.log", ["--format", "envoy", "--key", "x_forwarded_for"], "3 requests of 2 callers", "github.com/istio/proxy/issues/1990"],
  ["istio.log", ["--format", "istio", "--key", "address"], "3 requests of 2 callers", "istio.io/latest/docs/tasks/observability/logs/access-log"],
  ["istio-1.2.log", ["--format", "istio", "--key", "address"], "3 requests of 2 callers", "github.com/istio/istio.io/issues/4380"],
  ["istio-1.0.log", ["--format", "istio", "--key", "address"], "3 requests of 2 callers", "github.com/istio/proxy/issues/1990"],
  ["istio-json.log", ["--key", "address", "--time", "timestamp"], "3 requests of 2 callers", "github.com/nitishm/engarde/pull/8"],
  ["squid.log", ["--format", "squid", "--key", "address"], "3 requests of 2 callers", "github.com/log2timeline/plaso/issues/4575"],
  ["squid-of-its-own-format.log", ["--format", "$msec [$time_local] $elapsed $address $http_x_forwarded_for $ident $request_method $url $protocol $type $status $bytes ", "--key", "http_x_forwarded_for", "--time", "time_local"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/1924"],
  ["varnish.log", ["--format", "LogFormat \"%{X-Forwarded-For}i %l %u %t \\\"%r\\\" %>s %b \\\"%{User-agent}i\\\"\" varnishcombined", "--key", "X-Forwarded-For"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/1249"],
  ["varnishncsa.log", ["--key", "address"], "3 requests of 2 callers", "github.com/matomo-org/matomo-log-analytics/pull/379"],
  ["lighttpd.log", ["--format", "%{%s}t|%V|%r|%s|%b", "--key", "%V"], "3 requests of 2 callers", "github.com/crowdsecurity/hub/issues/637"],
  ["lighttpd-default.log", ["--key", "address"], "3 requests of 2 callers", "github.com/crowdsecurity/hub/issues/637"],
  ["hiawatha.log", ["--format", "$remote_addr|$time|$status|$bytes|$request|$referer|$agent|Host: $host|", "--key", "address"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/2011"],
  ["uwsgi.log", ["--format", "[pid: $pid|app: $app|req: $req] $remote_addr ($remote_user) {$vars} [$time] $request_method $uri => generated $bytes_sent bytes ", "--key", "remote_addr", "--cost", "bytes"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/386"],
  ["alb.log", ["--format", "alb", "--key", "client_ip"], "3 requests of 2 callers", "gist.github.com/mago0/999afafab9eaac8277a44dde01138f40"],
  ["elb-classic.log", ["--format", "elb", "--key", "address"], "3 requests of 2 callers", "sumologic.com/help/docs/manage/field-extractions/fer-templates/aws-elastic-load-balancing-logs"],
  ["nlb.log", ["--format", "nlb", "--key", "address"], "3 requests of 2 callers", "github.com/turbot/tailpipe-plugin-aws/issues/295"],
  ["api-gateway.log", ["--key", "ip", "--time", "requestTime"], "3 requests of 2 callers", "github.com/ministryofjustice/modernisation-platform-environments/pull/3807"],
  ["s3.log", ["--format", "$owner $bucket [$time] $remote_addr $requester $id $operation $key \"$request\" $status ", "--key", "remote_addr"], "3 requests of 2 callers", "docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html"],
  ["gcp-load-balancer.log", ["--key", "httpRequest.remoteIp", "--time", "receiveTimestamp"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/1192"],
  ["gcp-address-with-a-port.log", ["--key", "address", "--time", "timestamp"], "3 requests of 2 callers", "github.com/SEKOIA-IO/intake-formats/pull/1211"],
  ["gcs-usage.log", ["--format", "\"$time_micros\",\"$c_ip\",\"$c_ip_type\",\"$c_ip_region\",\"$cs_method\"", "--key", "c_ip", "--time", "time_micros"], "3 requests of 2 callers", "github.com/wazuh/wazuh/issues/8473"],
  ["azure-application-gateway.log", ["--key", "properties.clientIP", "--time", "timeStamp"], "3 requests of 2 callers", "github.com/log2timeline/plaso/pull/4070"],
  ["azure-front-door.log", ["--key", "properties.clientIp"], "3 requests of 2 callers", "github.com/open-telemetry/opentelemetry-collector-contrib/pull/44919"],
  ["heroku-router.log", ["--key", "fwd", "--cost", "bytes"], "3 requests of 2 callers", "github.com/onplus/v2hero/issues/1"],
  ["digitalocean-app.log", ["--key", "req.remoteAddress"], "3 requests of 2 callers", "github.com/digitalocean/doctl/issues/1536"],
  ["vercel.log", ["--key", "proxy.clientIp"], "3 requests of 2 callers", "vercel.com/docs/drains/reference/logs"],
  ["fastly-syslog.log", ["--key", "client_ip"], "3 requests of 2 callers", "github.com/elifesciences/builder/pull/302"],
  ["fastly.log", ["--key", "client_ip"], "3 requests of 2 callers", "github.com/allinurl/goaccess/issues/2376"],
  ["kong.log", ["--key", "client_ip", "--time", "started_at"], "3 requests of 2 callers", "github.com/Kong/kong/issues/6186"],
  ["pino-http.log", ["--key", "req.remoteAddress"], "3 requests of 2 callers", "github.com/monstar-lab-oss/nestjs-starter-rest-api/pull/12"],
  ["winston.log", ["--key", "ip"], "3 requests of 2 callers", "github.com/DataDog/documentation/pull/32711"],
  ["winston-message.log", ["--key", "client_ip"], "3 requests of 2 callers", "github.com/safe-global/safe-client-gateway/issues/306"],
  ["bunyan.log", ["--key", "req.remoteAddress"], "3 requests of 2 callers", "github.com/trentm/node-bunyan#standard-serializers"],
  ["morgan-combined.log", ["--key", "address"], "3 requests of 2 callers", "socket.dev/npm/package/morgan"],
  ["serilog-compact.log", ["--key", "ClientIp", "--time", "@t"], "3 requests of 2 callers", "github.com/constructorfabric/insight/issues/939"],
  ["loki-jsonl.log", ["--key", "ip"], "3 requests of 2 callers", "github.com/control-theory/gonzo/issues/54"],
  ["fluent-bit-in-otel-body.log", ["--key", "address"], "3 requests of 2 callers", "github.com/kube-logging/logging-operator/pull/1766"],
  ["gin.log", ["--format", "[GIN] $time | $status | $latency | $client_ip | $request_method \"$uri\"", "--key", "client_ip"], "3 requests of 2 callers", "gin-gonic.com/en/docs/logging"],
  ["s3-in-cloudwatch.log", ["--key", "remote_ip", "--time", "request_time"], "3 requests of 2 callers", "docs.aws.amazon.com/AmazonS3/latest/userguide/sal-cw-log-format.html"],
];

test.each(SHAPES)("%s", async (file, args, counts) => {
  let out = "";
  const into = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
  const log = readFileSync(`simulate/test/logs/${file}`);
  const code = await runSimulate(["-", "--policy", "1000000, 1/d", ...args], { stdin: Readable.from([log]), stdout: into, stderr: into });
  expect([code, out]).toEqual([0, expect.stringMatching(new RegExp(`^${counts} in (?:2|3) s,`))]);
  expect(out).not.toContain("cannot be read");
  expect(out).toMatch(/ \((?:203\.0\.113\.7|2001:db8:[\d:]*:\/64|a47\.dyn\.example\.com)\)/); // the caller of two requests
});

test("each shape is of one page or report", () => {
  expect(SHAPES.length).toBeGreaterThanOrEqual(40);
  for (const [file, , , seenAt] of SHAPES) expect(seenAt, file).toMatch(/^[\w.-]+\.\w+\/\S+$/);
});
