import {
  type DeleteReq,
  DeleteResp,
  type TombstoneReq,
  TombstoneResp,
} from '@eventstore/db-client/generated/streams_pb';
import type { ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { expectedOf } from './append-handler';
import type { CallGate } from './call-gate';
import type { Database } from './database';
import { streamNameOf } from './messages';
import { streamDeleted, wrongRevision } from './rpc-errors';

/** Streams.Delete: the stream then reads as absent and can be started again. */
export function deleteHandler(database: Database, gate: CallGate) {
  return (call: ServerUnaryCall<DeleteReq, DeleteResp>, answer: sendUnaryData<DeleteResp>): void => {
    gate.enter(answer, () => {
      remove(database, call.request.getOptions()!, false)
        .then((position) =>
          answer(null, new DeleteResp().setPosition(place(new DeleteResp.Position(), position))),
        )
        .catch((error) => answer(error));
    });
  };
}

/** Streams.Tombstone: the name can never be used again. */
export function tombstoneHandler(database: Database, gate: CallGate) {
  return (call: ServerUnaryCall<TombstoneReq, TombstoneResp>, answer: sendUnaryData<TombstoneResp>): void => {
    gate.enter(answer, () => {
      remove(database, call.request.getOptions()!, true)
        .then((position) =>
          answer(null, new TombstoneResp().setPosition(place(new TombstoneResp.Position(), position))),
        )
        .catch((error) => answer(error));
    });
  };
}

async function remove(
  database: Database,
  options: DeleteReq.Options | TombstoneReq.Options,
  hard: boolean,
): Promise<bigint> {
  const stream = streamNameOf(options.getStreamIdentifier());
  const outcome = await database.delete(stream, expectedOf(options), hard);
  if (outcome.result === 'deleted') throw streamDeleted(stream);
  if (outcome.result === 'wrong_revision') throw wrongRevision(stream, outcome.current);
  return outcome.result === 'written' ? outcome.position : 0n;
}

interface Place {
  setCommitPosition(value: string): unknown;
  setPreparePosition(value: string): unknown;
}

function place<P extends Place>(target: P, position: bigint): P {
  target.setCommitPosition(position.toString());
  target.setPreparePosition(position.toString());
  return target;
}
