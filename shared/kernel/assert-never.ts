/** The end of every switch over a tagged union: a new tag fails to compile here. */
export function assertNever(value: never, what: string): never {
  throw new Error(`unexpected ${what}: ${JSON.stringify(value)}`);
}
