import { Empty, StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb';
import { BatchAppendReq } from '@eventstore/db-client/generated/streams_pb';
import type { EventBytes } from './events';

/** An append as the server is asked for it. */
export interface Append {
  /** As it is called on the server. */
  readonly stream: string;
  readonly expected_revision: bigint | 'no_stream';
  readonly events: readonly EventBytes[];
}

/** Of all data and metadata together. */
export function bytesOf({ events }: Append): number {
  return events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
}

/**
 * The whole append in one message, but for its correlation id. Without a deadline: that is a time of day by this
 * machine's clock, and concerns only appends of several messages.
 */
export function batchRequest({ stream, expected_revision, events }: Append): BatchAppendReq {
  const options = new BatchAppendReq.Options();
  options.setStreamIdentifier(new StreamIdentifier().setStreamName(Buffer.from(stream, 'utf8')));
  if (expected_revision === 'no_stream') options.setNoStream(new Empty());
  else options.setStreamPosition(expected_revision.toString());
  return new BatchAppendReq()
    .setOptions(options)
    .setProposedMessagesList(events.map(proposedMessage))
    .setIsFinal(true);
}

function proposedMessage({ id, type, data, metadata }: EventBytes): BatchAppendReq.ProposedMessage {
  const message = new BatchAppendReq.ProposedMessage();
  message.getMetadataMap().set('type', type).set('content-type', 'application/json');
  return message.setId(new UUID().setString(id)).setData(data).setCustomMetadata(metadata);
}
