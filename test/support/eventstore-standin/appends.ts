import { Empty } from '@eventstore/db-client/generated/shared_pb';
import {
  type AppendReq,
  AppendResp,
  type DeleteReq,
  DeleteResp,
  type TombstoneReq,
  TombstoneResp,
} from '@eventstore/db-client/generated/streams_pb';
import type { ServerReadableStream, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { waitFor } from '../wait-for';
import type { CallGate } from './call-gate';
import { type Database, type Expected, NO_STREAM, type Proposal, type WriteOutcome } from './database';
import { streamNameOf } from './reads';
import {
  invalidArgument,
  invalidEventId,
  missingProperty,
  streamDeleted,
  timedOut,
  tooLarge,
  wrongRevision,
} from './rpc-errors';

type AppendCall = ServerReadableStream<AppendReq, AppendResp>;

/** Streams.Append: receives a header and one message per event, and sends one response. */
export function appendHandler(database: Database, gate: CallGate) {
  return (call: AppendCall, answer: sendUnaryData<AppendResp>): void =>
    gate.enter(answer, async () => {
      const request = await receive(call, gate);
      const response = request && (await perform(database, gate, call, request));
      if (response) answer(null, response);
    });
}

interface AppendRequest {
  readonly stream: string;
  readonly expected: Expected;
  readonly proposals: readonly Proposal[];
}

/** Returns undefined if the call was cancelled. Nothing is stored then. */
async function receive(call: AppendCall, gate: CallGate): Promise<AppendRequest | undefined> {
  let header: AppendReq.Options | undefined;
  const proposals: Proposal[] = [];
  for await (const message of call as AsyncIterable<AppendReq>) {
    if (message.hasOptions()) header = message.getOptions();
    const proposed = message.getProposedMessage();
    if (!proposed) continue;
    proposals.push(toProposal(proposed));
    const { append_bytes_max } = gate.faults.current;
    if (bytesOf(proposals) > append_bytes_max) throw tooLarge(append_bytes_max);
    if (gate.faults.take('cut_appends')) gate.cut(call);
  }
  if (call.cancelled) return undefined;
  if (!header) throw invalidArgument('options first');
  if (proposals.length === 0) throw invalidArgument('an append without events');
  return { stream: streamNameOf(header), expected: expectedOf(header), proposals };
}

/** Returns undefined if the call is not answered. */
async function perform(
  database: Database,
  gate: CallGate,
  call: AppendCall,
  { stream, expected, proposals }: AppendRequest,
): Promise<AppendResp | undefined> {
  const { faults } = gate;
  if (faults.current.hung_appends) return undefined;
  const outcome = database.append(stream, expected, proposals);
  if (faults.take('lost_acks')) {
    gate.cut(call);
    return undefined;
  }
  if (faults.take('timed_out_appends')) throw timedOut();
  await waitFor(() => !faults.current.held_answers);
  const response = toResponse(stream, outcome);
  if (faults.take('unplaced_answers')) response.getSuccess()?.setNoPosition(new Empty());
  return faults.current.silent ? undefined : response;
}

function toResponse(stream: string, outcome: WriteOutcome): AppendResp {
  if (outcome.result === 'deleted') throw streamDeleted(stream);
  if (outcome.result === 'wrong_revision') {
    const { current } = outcome;
    const refusal = new AppendResp.WrongExpectedVersion().setExpectedAny(new Empty());
    if (current === NO_STREAM) refusal.setCurrentNoStream(new Empty());
    else refusal.setCurrentRevision(String(current));
    return new AppendResp().setWrongExpectedVersion(refusal);
  }
  const success = new AppendResp.Success().setCurrentRevision(String(outcome.revision));
  return new AppendResp().setSuccess(success.setPosition(placed(new AppendResp.Position(), outcome)));
}

const UUID_FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const CONTENT_TYPES = ['application/json', 'application/octet-stream'];

/** Throws the server's error if the event is malformed. */
function toProposal(message: AppendReq.ProposedMessage): Proposal {
  const id = message.getId()?.getString() ?? '';
  if (!UUID_FORM.test(id)) throw invalidEventId();
  const type = message.getMetadataMap().get('type');
  const content_type = message.getMetadataMap().get('content-type');
  if (type === undefined) throw missingProperty('type');
  if (content_type === undefined) throw missingProperty('content-type');
  if (!CONTENT_TYPES.includes(content_type)) throw invalidArgument(`content type ${content_type}`);
  const metadata = message.getCustomMetadata_asB64();
  return { id: id.toLowerCase(), type, content_type, data: message.getData_asB64(), metadata };
}

/** Counts as the server does: a character of a type takes two bytes. */
function bytesOf(proposals: readonly Proposal[]): number {
  const bytes = (base64: string): number => Buffer.byteLength(base64, 'base64');
  return proposals.reduce(
    (sum, { type, data, metadata }) => sum + bytes(data) + bytes(metadata) + 2 * type.length,
    0,
  );
}

function expectedOf(options: AppendReq.Options): Expected {
  if (options.hasRevision()) return Number(options.getRevision());
  if (options.hasNoStream()) return NO_STREAM;
  if (options.hasAny()) return 'any';
  throw invalidArgument('no expected revision that this stand-in knows');
}

/** Streams.Delete: the stream then reads as absent and can be started again. */
export function deleteHandler(database: Database, gate: CallGate) {
  return (call: ServerUnaryCall<DeleteReq, DeleteResp>, answer: sendUnaryData<DeleteResp>): void =>
    gate.enter(answer, () => {
      const outcome = remove(database, call.request.getOptions()!, false);
      answer(null, new DeleteResp().setPosition(placed(new DeleteResp.Position(), outcome)));
    });
}

/** Streams.Tombstone: the name can never be used again. */
export function tombstoneHandler(database: Database, gate: CallGate) {
  return (call: ServerUnaryCall<TombstoneReq, TombstoneResp>, answer: sendUnaryData<TombstoneResp>): void =>
    gate.enter(answer, () => {
      const outcome = remove(database, call.request.getOptions()!, true);
      answer(null, new TombstoneResp().setPosition(placed(new TombstoneResp.Position(), outcome)));
    });
}

function remove(database: Database, options: DeleteReq.Options | TombstoneReq.Options, hard: boolean) {
  if (!options.hasAny()) throw invalidArgument('this stand-in deletes streams at any revision only');
  const stream = streamNameOf(options);
  const outcome = database.delete(stream, hard);
  if (outcome.result === 'deleted') throw streamDeleted(stream);
  if (outcome.result === 'wrong_revision') throw wrongRevision(stream, outcome.current);
  return outcome;
}

interface Place {
  setCommitPosition(value: string): unknown;
  setPreparePosition(value: string): unknown;
}

function placed<P extends Place>(place: P, { position }: { readonly position: number }): P {
  place.setCommitPosition(String(position));
  place.setPreparePosition(String(position));
  return place;
}
