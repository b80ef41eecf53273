/** The part of V8's CPU profile that is used here (https://chromedevtools.github.io/devtools-protocol/v8/Profiler/). */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  /** In microseconds of the clock of `process.hrtime`. */
  readonly startTime: number;
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[];
}

/** A function in the profile, called from its parent. `us` is its time with everything that it called. */
interface Frame {
  readonly name: string;
  us: number;
  readonly children: Map<string, Frame>;
}

/** Frames in which the process does not work. */
const IDLE = new Set(['(idle)', '(program)', '(root)']);

/** Returns the stacks of a profile as lines `outer;inner microseconds`, the format of flamegraph.pl and speedscope. */
export function foldedStacks(profile: CpuProfile): string {
  const lines: string[] = [];
  const visit = (frame: Frame, path: string): void => {
    const stack = path === '' ? frame.name : `${path};${frame.name}`;
    const own = frame.us - [...frame.children.values()].reduce((sum, child) => sum + child.us, 0);
    if (own >= 1) lines.push(`${stack} ${Math.round(own)}`);
    for (const child of frame.children.values()) visit(child, stack);
  };
  for (const child of frameTree(profile).children.values()) visit(child, '');
  return lines.join('\n');
}

/** Merges the samples of a profile into a tree of functions, without idle time. */
function frameTree({ nodes, samples, timeDeltas }: CpuProfile): Frame {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parentOf = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id])));
  const root: Frame = { name: 'all', us: 0, children: new Map() };
  samples.forEach((sample, index) => {
    const stack: string[] = [];
    for (let id: number | undefined = sample; id !== undefined; id = parentOf.get(id))
      stack.unshift(nameOf(byId.get(id)!));
    const names = stack.filter((name) => !IDLE.has(name));
    const us = timeDeltas[index]!;
    if (names.length === 0) return;
    root.us += us;
    let frame = root;
    for (const name of names) {
      const child = frame.children.get(name) ?? { name, us: 0, children: new Map() };
      frame.children.set(name, child);
      child.us += us;
      frame = child;
    }
  });
  return root;
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: CpuProfile['nodes'][number]): string {
  const name = functionName || '(anonymous)';
  if (url === '') return name;
  const file = url.replace(/^.*\/(dist|node_modules)\//, '').replace(/^file:\/\//, '');
  return `${name} ${file}:${lineNumber + 1}`;
}

const WIDTH = 1_600;
const ROW_HEIGHT = 17;
/** Narrower frames are not drawn. In pixels. */
const WIDTH_MIN = 0.5;
const CHARACTER_WIDTH = 6.5;

/** Returns the profile as an SVG picture: each box is a function, as wide as its share of the time, above its caller. */
export function flameGraph(profile: CpuProfile): string {
  const root = frameTree(profile);
  const boxes: string[] = [];
  let depth_max = 0;
  const draw = (frame: Frame, x: number, depth: number): void => {
    const width = (WIDTH * frame.us) / root.us;
    if (width < WIDTH_MIN) return;
    depth_max = Math.max(depth_max, depth);
    boxes.push(box(frame, x, depth, width, (100 * frame.us) / root.us));
    let child_x = x;
    for (const child of [...frame.children.values()].sort((a, b) => b.us - a.us)) {
      draw(child, child_x, depth + 1);
      child_x += (WIDTH * child.us) / root.us;
    }
  };
  if (root.us > 0) draw(root, 0, 0);
  const height = (depth_max + 1) * ROW_HEIGHT;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="monospace" font-size="11"><g transform="matrix(1 0 0 -1 0 ${height})">${boxes.join('')}</g></svg>`;
}

function box({ name }: Frame, x: number, depth: number, width: number, percent: number): string {
  const y = depth * ROW_HEIGHT;
  const hue = name.length % 40;
  const label = escaped(name.slice(0, Math.floor(width / CHARACTER_WIDTH)));
  const text = `<text transform="matrix(1 0 0 -1 ${(x + 2).toFixed(1)} ${y + 5})">${label}</text>`;
  return `<g><title>${escaped(name)} ${percent.toFixed(1)} %</title><rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW_HEIGHT - 1}" fill="hsl(${hue} 85% 70%)"/>${text}</g>`;
}

const escaped = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
