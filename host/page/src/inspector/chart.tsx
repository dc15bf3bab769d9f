// The statechart of a run, drawn from the table that the core checks its moves with: the present state lit, and the way
// that led there.
import chart from "stepwell:statechart";

const ROW = 74;
const BOX = { width: 112, height: 32 };
/** Between two boxes of a row. */
const GAP = 14;

interface Place {
  x: number;
  y: number;
  row: number;
}

/** Returns a row for each number of moves from the beginning; where a run ends is last. */
function rowsOf(): string[][] {
  const rows: string[][] = [];
  const known = new Set<string>(chart.final);
  for (let row = [chart.initial]; row.length > 0; ) {
    row.forEach((state) => known.add(state));
    rows.push(row);
    const next = chart.edges.filter(({ from, to }) => row.includes(from) && !known.has(to)).map(({ to }) => to);
    row = [...new Set(next)];
  }
  rows.push(chart.final);
  return rows;
}

const ROWS = rowsOf();
/** As wide as the longest row. */
const WIDTH = Math.max(...ROWS.map(({ length }) => length)) * (BOX.width + GAP);

function layout(): Map<string, Place> {
  const places = new Map<string, Place>();
  ROWS.forEach((row, at) => {
    row.forEach((state, index) => places.set(state, { x: (WIDTH * (2 * index + 1)) / (2 * row.length), y: ROW * at + BOX.height / 2 + 8, row: at }));
  });
  return places;
}

const PLACES = layout();
const HEIGHT = Math.max(...[...PLACES.values()].map(({ y }) => y)) + BOX.height / 2 + 8;

/** Moves between the same two states share an arrow. */
const ARROWS = [...new Map(chart.edges.map(({ from, to }) => [`${from} ${to}`, { from, to }])).values()].map(({ from, to }) => ({
  from,
  to,
  on: chart.edges.filter((edge) => edge.from === from && edge.to === to).map(({ on }) => on),
  path: curve(PLACES.get(from)!, PLACES.get(to)!),
}));

function curve(from: Place, to: Place): string {
  const down = to.row - from.row;
  if (down === 0) {
    const x = from.x + BOX.width / 2;
    if (from === to) return `M${x} ${from.y - 8}C${x + 34} ${from.y - 20} ${x + 34} ${from.y + 20} ${x} ${from.y + 8}`;
    const side = Math.sign(to.x - from.x);
    return `M${from.x + (side * BOX.width) / 2} ${from.y}L${to.x - (side * BOX.width) / 2} ${to.y}`;
  }
  if (Math.abs(down) === 1) {
    // Beside each other where both ways are there.
    const shift = 8 * Math.sign(down);
    const [out, into] = [from.y + (Math.sign(down) * BOX.height) / 2, to.y - (Math.sign(down) * BOX.height) / 2];
    const middle = (out + into) / 2;
    return `M${from.x + shift} ${out}C${from.x + shift} ${middle} ${to.x + shift} ${middle} ${to.x + shift} ${into}`;
  }
  // Round what stands between, on the side where it begins.
  const side = from.x + to.x < WIDTH || (from.x + to.x === WIDTH && down > 0 && from.row === 0) ? -1 : 1;
  const [start, end] = [from.x + (side * BOX.width) / 2, to.x + (side * BOX.width) / 2];
  const bulge = (side < 0 ? Math.min(start, end) : Math.max(start, end)) + side * (18 + 12 * Math.abs(down));
  return `M${start} ${from.y}C${bulge} ${from.y} ${bulge} ${to.y} ${end} ${to.y}`;
}

/** The shortest way between two states, without the first: several moves may come of one input. */
function way(from: string, to: string): string[] {
  const before = new Map<string, string>();
  let row = [from];
  while (row.length > 0 && !before.has(to)) {
    const next: string[] = [];
    for (const state of row) {
      for (const edge of chart.edges) {
        if (edge.from !== state || before.has(edge.to) || edge.to === from) continue;
        before.set(edge.to, state);
        next.push(edge.to);
      }
    }
    row = next;
  }
  const found: string[] = [];
  for (let state: string | undefined = to; state !== undefined && state !== from; state = before.get(state)) found.unshift(state);
  return found;
}

export function stateName(state: string): string {
  const words = state.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export const INITIAL = chart.initial;

export function Chart({ states }: { states: string[] }) {
  const now = states.at(-1) ?? chart.initial;
  const taken = new Set<string>();
  let last = "";
  let at = chart.initial;
  for (const state of states) {
    for (const next of state === at ? [] : way(at, state)) {
      last = `${at} ${next}`;
      taken.add(last);
      at = next;
    }
  }
  const been = new Set(states);
  const words = `The run is ${stateName(now).toLowerCase()}. Its way: ${states.map(stateName).join(", ")}.`;
  return (
    <figure class="chart">
      <svg viewBox={`-32 0 ${WIDTH + 64} ${HEIGHT}`} role="img" aria-label={words} data-state={now}>
        <defs>
          {["", "taken", "last"].map((look) => (
            <marker key={look} id={`arrow-${look}`} class={look} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path d="M0 0L8 4L0 8z" />
            </marker>
          ))}
        </defs>
        {/* What was taken lies over what was not. */}
        {[...ARROWS]
          .sort((one, other) => Number(taken.has(`${one.from} ${one.to}`)) - Number(taken.has(`${other.from} ${other.to}`)))
          .map(({ from, to, on, path }) => {
            const name = `${from} ${to}`;
            const look = name === last ? "last" : taken.has(name) ? "taken" : "";
            return (
              <path key={name} class={`move ${look}`} d={path} marker-end={`url(#arrow-${look})`}>
                <title>{`${stateName(from)} to ${stateName(to)}: ${on.join(", ")}`}</title>
              </path>
            );
          })}
        {chart.states.map((state) => {
          const { x, y } = PLACES.get(state)!;
          return (
            <g key={state} class={`state ${state === now ? "now" : been.has(state) ? "been" : ""}`}>
              <rect x={x - BOX.width / 2} y={y - BOX.height / 2} width={BOX.width} height={BOX.height} rx="9" />
              <text x={x} y={y}>
                {stateName(state)}
              </text>
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
