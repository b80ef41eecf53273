interface Pattern<Value> {
  readonly path: string;
  readonly segments: readonly string[];
  readonly value: Value;
}

export interface FoundPath<Value> {
  /** The pattern, such as `/api/listing/:id`. */
  readonly path: string;
  readonly value: Value;
  /** The percent-decoded parameters by name. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Finds values by path. A segment of a pattern that begins with `:` matches any text that is not empty; all others match
 * exactly. So every path has one spelling, which caches and logs rely on.
 */
export class PathTable<Value> {
  private readonly by_length = new Map<number, Pattern<Value>[]>();

  constructor(values: Iterable<readonly [path: string, value: Value]>) {
    for (const [path, value] of values) {
      const segments = path.split('/');
      const patterns = this.by_length.get(segments.length) ?? [];
      this.by_length.set(segments.length, patterns);
      patterns.push({ path, segments, value });
    }
  }

  /** Returns undefined if no pattern matches. Throws `URIError` if a parameter has invalid percent-encoding. */
  find(path: string): FoundPath<Value> | undefined {
    const asked = path.split('/');
    const found = this.by_length.get(asked.length)?.find(({ segments }) => matches(segments, asked));
    if (found === undefined) return undefined;
    const params: Record<string, string> = {};
    for (const [index, segment] of found.segments.entries())
      if (segment.startsWith(':')) params[segment.slice(1)] = decodeURIComponent(asked[index]!);
    return { path: found.path, value: found.value, params };
  }
}

function matches(segments: readonly string[], asked: readonly string[]): boolean {
  return segments.every((segment, index) =>
    segment.startsWith(':') ? asked[index] !== '' : segment === asked[index],
  );
}
