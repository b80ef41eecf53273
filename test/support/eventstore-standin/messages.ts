import { Empty, StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb';
import { ReadResp } from '@eventstore/db-client/generated/streams_pb';
import type { Proposal, StoredEvent } from './records';
import { InvalidEventIdError, invalidArgument, missingProperty } from './rpc-errors';

const UUID_FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const CONTENT_TYPES = new Set(['application/json', 'application/octet-stream']);
/** The unit of `created` is 100 ns. */
const TICKS_PER_MS = 10_000n;

interface ProposedMessage {
  getId(): UUID | undefined;
  getMetadataMap(): { get(name: string): string | undefined };
  getData_asU8(): Uint8Array;
  getCustomMetadata_asU8(): Uint8Array;
}

export function streamNameOf(identifier: StreamIdentifier | undefined): string {
  const name = Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8');
  if (name === '') throw invalidArgument('a stream name is required');
  return name;
}

/** Throws the server's error if the event is malformed. */
export function toProposal(message: ProposedMessage): Proposal {
  const id = message.getId()?.getString() ?? '';
  if (!UUID_FORM.test(id)) throw new InvalidEventIdError();
  const type = message.getMetadataMap().get('type');
  const content_type = message.getMetadataMap().get('content-type');
  if (type === undefined) throw missingProperty('type');
  if (content_type === undefined) throw missingProperty('content-type');
  if (!CONTENT_TYPES.has(content_type)) throw invalidArgument(`content type ${content_type}`);
  const data = message.getData_asU8();
  return { id: id.toLowerCase(), type, content_type, data, metadata: message.getCustomMetadata_asU8() };
}

export function eventMessage(event: StoredEvent): ReadResp {
  const recorded = new ReadResp.ReadEvent.RecordedEvent();
  recorded.setId(uuid(event.id));
  recorded.setStreamIdentifier(identifier(event.stream));
  recorded.setStreamRevision(event.revision.toString());
  recorded.setCommitPosition(event.position.toString());
  recorded.setPreparePosition(event.position.toString());
  recorded.getMetadataMap().set('type', event.type);
  recorded.getMetadataMap().set('content-type', event.content_type);
  recorded.getMetadataMap().set('created', (BigInt(event.created_ms) * TICKS_PER_MS).toString());
  recorded.setData(event.data);
  recorded.setCustomMetadata(event.metadata);
  const read = new ReadResp.ReadEvent();
  read.setEvent(recorded);
  read.setCommitPosition(event.position.toString());
  return new ReadResp().setEvent(read);
}

export function confirmationMessage(id: string): ReadResp {
  const confirmation = new ReadResp.SubscriptionConfirmation();
  confirmation.setSubscriptionId(id);
  return new ReadResp().setConfirmation(confirmation);
}

export function caughtUpMessage(): ReadResp {
  return new ReadResp().setCaughtUp(new ReadResp.CaughtUp());
}

export function streamNotFoundMessage(stream: string): ReadResp {
  const not_found = new ReadResp.StreamNotFound();
  not_found.setStreamIdentifier(identifier(stream));
  return new ReadResp().setStreamNotFound(not_found);
}

export function empty(): Empty {
  return new Empty();
}

function uuid(text: string): UUID {
  return new UUID().setString(text);
}

function identifier(stream: string): StreamIdentifier {
  const message = new StreamIdentifier();
  message.setStreamName(Buffer.from(stream, 'utf8'));
  return message;
}
