import type { ReadReq } from '@eventstore/db-client/generated/streams_pb';
import type { StoredEvent } from './records';
import { invalidArgument } from './rpc-errors';

export interface EventFilter {
  readonly allows: (event: StoredEvent) => boolean;
}

/** Throws if the server would refuse the filter. */
export function toFilter(options: ReadReq.Options): EventFilter | undefined {
  const filter = options.getFilter();
  if (!filter) {
    if (!options.hasNoFilter()) throw invalidArgument('either a filter or none');
    return undefined;
  }
  if (!filter.hasMax() && !filter.hasCount()) throw invalidArgument('no search window');
  if (filter.getCheckpointintervalmultiplier() === 0) throw invalidArgument('a checkpoint interval of 0');
  const by_stream = filter.getStreamIdentifier();
  const expression = by_stream ?? filter.getEventType();
  if (!expression) throw invalidArgument('a filter of nothing');
  const matches = matcher(expression.getRegex(), expression.getPrefixList());
  return {
    allows: (event) => matches(by_stream ? event.stream : event.type),
  };
}

function matcher(regex: string, prefixes: readonly string[]): (text: string) => boolean {
  if (regex !== '') {
    const pattern = new RegExp(regex);
    return (text) => pattern.test(text);
  }
  if (prefixes.length === 0) throw invalidArgument('neither an expression nor a prefix');
  return (text) => prefixes.some((prefix) => text.startsWith(prefix));
}
