import type { z } from 'zod';
import type { JsonObject } from './envelope';

/** One event type: its newest schema, and the upcasters from older stored versions. */
export interface EventDefinition<Type extends string = string, Schema extends z.ZodType = z.ZodType> {
  readonly type: Type;
  readonly version: number;
  readonly schema: Schema;
  /** `upcasters[n]` turns version n's data into version n+1's. */
  readonly upcasters: Readonly<Record<number, (data: JsonObject) => JsonObject>>;
}

export function defineEvent<Type extends string, Schema extends z.ZodType>(
  type: Type,
  schema: Schema,
  options: { version?: number; upcasters?: EventDefinition['upcasters'] } = {},
): EventDefinition<Type, Schema> {
  return { type, schema, version: options.version ?? 1, upcasters: options.upcasters ?? {} };
}

/** The tagged union `{type, data}` of a list of definitions. */
export type EventOf<Definitions extends readonly EventDefinition[]> = {
  [Index in keyof Definitions]: Definitions[Index] extends EventDefinition<infer Type, infer Schema>
    ? { readonly type: Type; readonly data: z.infer<Schema> }
    : never;
}[number];
