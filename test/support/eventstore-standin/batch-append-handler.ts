import {
  AllStreamPosition,
  MaximumAppendSizeExceeded,
  StreamDeleted,
  StreamIdentifier,
  WrongExpectedVersion,
} from '@eventstore/db-client/generated/shared_pb';
import { Status } from '@eventstore/db-client/generated/status_pb';
import { type BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { Any } from 'google-protobuf/google/protobuf/any_pb';
import { Empty } from 'google-protobuf/google/protobuf/empty_pb';
import { MAX_APPEND_BYTES } from './append-handler';
import type { CallGate } from './call-gate';
import type { Database } from './database';
import { streamNameOf, toProposal } from './messages';
import type { Expected, Proposal, WriteOutcome } from './records';
import { invalidArgument } from './rpc-errors';

type BatchCall = ServerDuplexStream<BatchAppendReq, BatchAppendResp>;

interface Batch {
  readonly options: BatchAppendReq.Options;
  readonly proposals: Proposal[];
}

/** Streams.BatchAppend: many appends over one call, each known by its correlation id. */
export function batchAppendHandler(database: Database, gate: CallGate) {
  return (call: BatchCall): void => {
    gate.enter(
      (error) => call.emit('error', error),
      () => {
        const open = new Map<string, Batch>();
        call.on('data', (request: BatchAppendReq) => {
          receive(database, gate, call, open, request).catch((error) => call.emit('error', error));
        });
        call.on('error', () => {});
        call.on('end', () => call.end());
      },
    );
  };
}

async function receive(
  database: Database,
  gate: CallGate,
  call: BatchCall,
  open: Map<string, Batch>,
  request: BatchAppendReq,
): Promise<void> {
  const id = request.getCorrelationId()?.getString() ?? '';
  const options = request.getOptions();
  if (options) open.set(id, { options, proposals: [] });
  const batch = open.get(id);
  if (!batch) return;
  batch.proposals.push(...request.getProposedMessagesList().map(toProposal));
  if (gate.faults.take('cut_appends')) return gate.cut(call);
  if (!request.getIsFinal()) return;
  open.delete(id);
  const stream = streamNameOf(batch.options.getStreamIdentifier());
  const outcome = isTooLarge(batch.proposals)
    ? ({ result: 'too_large' } as const)
    : await database.append(stream, expectedOf(batch.options), batch.proposals);
  if (outcome.result === 'dropped' || gate.faults.current.silent) return;
  if (gate.faults.take('lost_acks')) return gate.cut(call);
  const response = toResponse(stream, outcome);
  const correlation = request.getCorrelationId();
  if (correlation) response.setCorrelationId(correlation);
  call.write(response);
}

type BatchOutcome = WriteOutcome | { readonly result: 'too_large' };

function isTooLarge(proposals: readonly Proposal[]): boolean {
  return (
    proposals.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0) > MAX_APPEND_BYTES
  );
}

function toResponse(stream: string, outcome: BatchOutcome): BatchAppendResp {
  const name = new StreamIdentifier().setStreamName(Buffer.from(stream, 'utf8'));
  const response = new BatchAppendResp().setStreamIdentifier(name);
  if (outcome.result !== 'written') return response.setError(errorStatus(name, outcome));
  const position = new AllStreamPosition();
  position.setCommitPosition(outcome.position.toString());
  position.setPreparePosition(outcome.position.toString());
  const success = new BatchAppendResp.Success();
  success.setCurrentRevision(outcome.revision.toString());
  success.setPosition(position);
  return response.setSuccess(success);
}

function errorStatus(name: StreamIdentifier, outcome: BatchOutcome): Status {
  const details = new Any();
  if (outcome.result === 'wrong_revision') {
    const wrong = new WrongExpectedVersion();
    if (outcome.current === undefined) wrong.setCurrentNoStream(new Empty());
    else wrong.setCurrentStreamRevision(outcome.current.toString());
    details.pack(wrong.serializeBinary(), 'event_store.client.WrongExpectedVersion');
  } else if (outcome.result === 'too_large') {
    const too_large = new MaximumAppendSizeExceeded().setMaxappendsize(MAX_APPEND_BYTES);
    details.pack(too_large.serializeBinary(), 'event_store.client.MaximumAppendSizeExceeded');
  } else {
    details.pack(
      new StreamDeleted().setStreamIdentifier(name).serializeBinary(),
      'event_store.client.StreamDeleted',
    );
  }
  return new Status().setDetails(details);
}

function expectedOf(options: BatchAppendReq.Options): Expected {
  if (options.hasStreamPosition()) return { kind: 'revision', revision: BigInt(options.getStreamPosition()) };
  if (options.hasNoStream()) return { kind: 'no_stream' };
  if (options.hasStreamExists()) return { kind: 'stream_exists' };
  if (options.hasAny()) return { kind: 'any' };
  throw invalidArgument('no expected stream position');
}
