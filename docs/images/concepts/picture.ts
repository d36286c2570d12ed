// The frame and the colors of the pictures of docs/concepts.md, for light and dark pages.

export const WIDTH = 760;

/** One picture as SVG text. `title` and `about` are what a screen reader says. */
export function picture(height: number, title: string, about: string, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title about">
<title id="title">${title}</title>
<desc id="about">${about}</desc>
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .head { font-weight: 600; font-size: 15px }
  .name { font-weight: 600 }
  .small { font-size: 12px }
  .said { white-space: pre }
  .page { fill: #ffffff }
  .lane { stroke: #afb8c1; stroke-width: 1.5; stroke-dasharray: 3 4; fill: none }
  .box { fill: #f6f8fa; stroke: #afb8c1 }
  .call { stroke: #57606a; stroke-width: 1.5; fill: none }
  .good { fill: #1a7f37; stroke: #1a7f37 }
  .bad { fill: #cf222e; stroke: #cf222e }
  .wait { fill: #9a6700; stroke: #9a6700 }
  .cross { stroke-width: 2.5; stroke-linecap: round; fill: none }
  .token { fill: #0969da; stroke: #0969da }
  .spent { fill: none; stroke: #afb8c1; stroke-width: 1.5 }
  .area { fill-opacity: .18; stroke: none }
  text.good, text.bad, text.wait { stroke: none; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .page { fill: #0d1117 } .lane, .spent { stroke: #59636e } .box { fill: #161b22; stroke: #59636e } .call { stroke: #b1bac4 }
    .good { fill: #3fb950; stroke: #3fb950 } .bad { fill: #ff7b72; stroke: #ff7b72 } .wait { fill: #e3b341; stroke: #e3b341 } .token { fill: #58a6ff; stroke: #58a6ff } .area { stroke: none }
  }
</style>
<rect class="page" width="${WIDTH}" height="${height}" rx="8"/>
<text class="head" x="24" y="30">${title}</text>
${parts.join("\n")}
</svg>
`;
}

/** A box with a name at the top of a lane, and the lane below it. */
export function lane(x: number, name: string, top: number, bottom: number, width = 150): string {
  const box = `<rect class="box" x="${x - width / 2}" y="${top}" width="${width}" height="30" rx="6"/><text class="name" x="${x}" y="${top + 20}" text-anchor="middle">${name}</text>`;
  return `<path class="lane" d="M${x} ${top + 30}V${bottom}"/>${box}`;
}

/** A level arrow from one lane to another, with `said` above it. */
export function arrow(from: number, to: number, y: number, said: string, style = ""): string {
  const tip = to > from ? -7 : 7;
  const line = `<path class="call" d="M${from} ${y}H${to}m${tip} -4l${-tip} 4l${tip} 4"/>`;
  return `${line}<text class="small ${style}" x="${(from + to) / 2}" y="${y - 6}" text-anchor="middle">${said}</text>`;
}

/** Crosses out a refused request. */
export const cross = (x: number, y: number, style: "bad" | "wait"): string => `<path class="${style} cross" d="M${x - 4} ${y - 4}l8 8m0 -8l-8 8"/>`;

export const seconds = (ms: number): string => `${ms / 1_000} s`;
