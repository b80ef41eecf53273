/** One label matcher, such as `status=~"5.."`. */
export interface Matcher {
  readonly label: string;
  readonly operator: '=' | '!=' | '=~' | '!~';
  readonly value: string;
}

/** One metric as a query selects it: `name{matchers}`. */
export interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
}

export interface ParsedQuery {
  readonly selectors: readonly Selector[];
  /** Labels of `by (…)`, which the result has. */
  readonly grouping: readonly string[];
}

/** Words with a list of labels in parentheses. */
const LABEL_LISTS = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right']);
/** Operators that are words. Functions and aggregations are followed by a parenthesis or by `by` and `without`. */
const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'atan2', 'inf', 'nan']);

const TOKEN =
  /\s+|#.*|(?<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?<duration>\[[^\]]*\])|(?<number>(?:\d[\w.]*|\.\d+))|(?<name>[a-zA-Z_:][\w:]*)|(?<sign>=~|!~|==|!=|>=|<=|[-+*/%^<>=(){},@])/y;

interface Token {
  readonly kind: 'string' | 'duration' | 'number' | 'name' | 'sign';
  readonly text: string;
}

/**
 * Returns the metrics, label matchers and groupings of a PromQL query. It reads what the queries of this project use. Throws
 * if it meets anything else, so that no part of a query is left out of a check.
 */
export function parseQuery(query: string): ParsedQuery {
  const tokens = tokensOf(query);
  const selectors: Selector[] = [];
  const grouping: string[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const { kind, text } = tokens[at]!;
    if (kind === 'sign' && text === '{') throw new Error(`a selector without a metric: ${query}`);
    if (kind !== 'name' || WORDS.has(text.toLowerCase())) continue;
    const next = tokens[at + 1]?.text;
    if (LABEL_LISTS.has(text)) {
      if (next !== '(') continue;
      const end = closing(tokens, at + 1, ')');
      const labels = tokens.slice(at + 2, end).filter((token) => token.kind === 'name');
      if (text === 'by') grouping.push(...labels.map((token) => token.text));
      at = end;
    } else if (next === '{') {
      const end = closing(tokens, at + 1, '}');
      selectors.push({ metric: text, matchers: matchersOf(tokens.slice(at + 2, end)) });
      at = end;
    } else if (next !== '(' && next !== 'by' && next !== 'without') {
      selectors.push({ metric: text, matchers: [] });
    }
  }
  return { selectors, grouping };
}

function tokensOf(query: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < query.length) {
    const from = TOKEN.lastIndex;
    const groups = TOKEN.exec(query)?.groups;
    if (!groups) throw new Error(`cannot read "${query.slice(from)}" of ${query}`);
    for (const [kind, text] of Object.entries(groups))
      if (text !== undefined) tokens.push({ kind: kind as Token['kind'], text });
  }
  return tokens;
}

function closing(tokens: readonly Token[], from: number, bracket: string): number {
  const end = tokens.findIndex(({ text }, at) => at >= from && text === bracket);
  if (end < 0) throw new Error(`no ${bracket} after ${tokens[from - 1]?.text}`);
  return end;
}

function matchersOf(tokens: readonly Token[]): Matcher[] {
  const matchers: Matcher[] = [];
  for (let at = 0; at < tokens.length; at += 4) {
    const [label, operator, value] = tokens.slice(at, at + 3).map(({ text }) => text);
    if (value === undefined) throw new Error(`an incomplete matcher of ${label}`);
    matchers.push({ label: label!, operator: operator as Matcher['operator'], value: value.slice(1, -1) });
  }
  return matchers;
}

/** Returns whether a label value satisfies a matcher. A label that is absent has the value `''`. */
export function satisfies(value: string, { operator, value: wanted }: Matcher): boolean {
  const equal = operator.endsWith('~') ? new RegExp(`^(?:${wanted})$`).test(value) : value === wanted;
  return operator.startsWith('!') ? !equal : equal;
}

/** One line of the Prometheus text format. */
export interface Sample {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Returns the samples of `/metrics`. */
export function samplesOf(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, metric, labels = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
      if (metric === undefined) throw new Error(`not a sample: ${line}`);
      const pairs = [...labels.matchAll(/(\w+)="((?:\\.|[^"\\])*)"/g)];
      return { metric, labels: Object.fromEntries(pairs.map(([, label, value]) => [label, value!])) };
    });
}
