import { Redis } from 'ioredis';
import { Partitions } from '../../shared/adapters/mongodb/partitions';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import { RedisCheckpointNotifier } from '../../shared/adapters/redis/checkpoint-notifier';
import type { Position } from '../../shared/catalog/events/envelope';
import { serversForTests, withDatabase } from '../support/own-servers';
import { aName, describeOn, describeOnAll } from '../support/real-servers';
import { type OwnServer, startOwnServer } from '../support/servers/own-server';
import { RECOVERS_WITHIN_MS, waitFor } from '../support/wait-for';
import { nextBatch } from './some-documents';

type Moves = [partition: number, position: Position][];

/** Returns the moves that the notifier has received for the version. Grows. */
function movesOf(notifier: RedisCheckpointNotifier, version: number): Moves {
  const moves: Moves = [];
  notifier.listen(version, (...move) => moves.push(move));
  return moves;
}

/** Publishes until the other side has received a notification, which shows that it is connected. */
async function connect(from: RedisCheckpointNotifier, to: RedisCheckpointNotifier): Promise<void> {
  const moves = movesOf(to, 0);
  const isConnected = (): boolean => {
    from.publish(0, [[0, 1n]]);
    return moves.length > 0;
  };
  await waitFor(isConnected, { timeout_ms: RECOVERS_WITHIN_MS });
}

describeOn('REDIS_URL', 'notifications of moved checkpoints on a real server', (url) => {
  const prefix = aName();
  const opened: RedisCheckpointNotifier[] = [];
  const open = (server_url = url, realm: 'live' | 'test' = 'live'): RedisCheckpointNotifier => {
    const notifier = new RedisCheckpointNotifier({ url: server_url, realm, prefix });
    opened.push(notifier);
    return notifier;
  };
  afterEach(() => {
    for (const notifier of opened.splice(0)) notifier.close();
  });

  test('reach the listeners of the same realm and version, in order', async () => {
    const [sender, receiver] = [open(), open()];
    await connect(sender, receiver);
    const [first, second] = [movesOf(receiver, 1), movesOf(receiver, 2)];
    const other_realm = open(url, 'test');
    const other_realm_moves = movesOf(other_realm, 1);
    await connect(open(url, 'test'), other_realm);
    sender.publish(1, [
      [0, 7n],
      [3, 9_007_199_254_740_993n],
    ]);
    sender.publish(1, []);
    sender.publish(2, [[0, 8n]]);
    await waitFor(() => second.length > 0);
    expect(first).toEqual([
      [0, 7n],
      [3, 9_007_199_254_740_993n],
    ]);
    expect(second).toEqual([[0, 8n]]);
    expect(other_realm_moves).toEqual([]);
  });

  test('ignore a message that no process of the service sends', async () => {
    const [sender, receiver] = [open(), open()];
    await connect(sender, receiver);
    const moves = movesOf(receiver, 1);
    const redis = new Redis(url);
    for (const message of ['', '1', '1 0', '1 0@', '1 x@5', '1 0@5.5', '1  0@5'])
      await redis.publish(`${prefix}:checkpoints:live`, message);
    redis.disconnect();
    sender.publish(1, [[0, 6n]]);
    await waitFor(() => moves.length > 0);
    expect(moves).toEqual([[0, 6n]]);
  });

  test('are lost while Redis is stopped, and arrive again when it is back', async () => {
    const server: OwnServer = await startOwnServer('redis');
    try {
      const [sender, receiver] = [open(server.url), open(server.url)];
      await connect(sender, receiver);
      await server.stop();
      sender.publish(1, [[0, 5n]]);
      await server.start();
      await connect(sender, receiver);
    } finally {
      await server.dispose();
    }
  });
});

describeOnAll(['REDIS_URL', 'MONGODB_URL'], 'two processes with documents in MongoDB', () => {
  const { REDIS_URL = '', MONGODB_URL = '' } = serversForTests();
  const name = aName();
  const opened: MongoViewStore[] = [];
  const open = async (): Promise<MongoViewStore> => {
    const notifier = new RedisCheckpointNotifier({ url: REDIS_URL, realm: 'live', prefix: name });
    const url = withDatabase(MONGODB_URL, name);
    const store = await MongoViewStore.open({ url, realm: 'live', partition_count: 2, notifier });
    opened.push(store);
    return store;
  };
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });

  test('a process that waits for a checkpoint learns from the other process that it has moved', async () => {
    const [worker, reader] = [await open(), await open()];
    const { version } = await worker.createVersion(1);
    const [written, read] = [await worker.open(version), await reader.open(version)];
    const reads = jest.spyOn(Partitions.prototype, 'checkpoints');
    const rounds = 20;
    for (let round = 1; round <= rounds; round++) {
      const position = BigInt(round);
      const waiting = read.waitFor(0, position, RECOVERS_WITHIN_MS);
      const batch = await nextBatch(written, { checkpoint: position });
      expect(await written.apply(batch)).toBe('applied');
      expect(await waiting).toBe(true);
    }
    // Without notifications, each round reads the checkpoints at least once. With them, a slow round may.
    expect(reads.mock.calls.length).toBeLessThan(rounds);
  });
});
