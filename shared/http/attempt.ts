export type Attempt<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: unknown };

/** A failure as a value, for where something must happen before it is thrown on. */
export async function attempt<Value>(running: Promise<Value>): Promise<Attempt<Value>> {
  try {
    return { ok: true, value: await running };
  } catch (error) {
    return { ok: false, error };
  }
}
