import type { Redis } from 'ioredis';
import type { Realm } from '../../catalog/realm';
import type { CheckpointMoved, CheckpointNotifier } from '../checkpoint-notifier';
import { type BlockingConnection, connectBlocking, connectFailFast } from './connection';

const COMMAND_MS = 1_000;
/** Limit for the reply to SUBSCRIBE. A silent channel is no failure. */
const SILENCE_MS = 5_000;

export interface RedisCheckpointNotifierOptions {
  /** `redis://…` or `rediss://…` */
  readonly url: string;
  readonly realm: Realm;
  /** Prefix of the channel in Redis; `catalog` by default. */
  readonly prefix?: string;
}

type Listener = (...moved: CheckpointMoved) => void;

/**
 * Sends notifications over the channel `<prefix>:checkpoints:<realm>` of Redis. A message is the version and then, for
 * each move, `<partition>@<position>`, separated by spaces. Connects at the first use, and again after an outage.
 * Notifications during an outage are lost.
 */
export class RedisCheckpointNotifier implements CheckpointNotifier {
  private readonly url: string;
  private readonly channel: string;
  private readonly listeners = new Map<number, Listener>();
  private publisher: Redis | undefined;
  private subscriber: BlockingConnection | undefined;
  private closed = false;

  constructor({ url, realm, prefix = 'catalog' }: RedisCheckpointNotifierOptions) {
    this.url = url;
    this.channel = `${prefix}:checkpoints:${realm}`;
  }

  publish(version: number, moved: readonly CheckpointMoved[]): void {
    if (this.closed || moved.length === 0) return;
    this.publisher ??= connectFailFast(this.url, COMMAND_MS);
    const moves = moved.map(([partition, position]) => `${partition}@${position}`);
    this.publisher.publish(this.channel, [version, ...moves].join(' ')).catch(() => {});
  }

  listen(version: number, onMoved: Listener): void {
    this.listeners.set(version, onMoved);
    if (!this.closed) this.subscriber ??= this.subscribe();
  }

  close(): void {
    this.closed = true;
    this.publisher?.disconnect();
    this.subscriber?.end();
  }

  private subscribe(): BlockingConnection {
    const subscriber = connectBlocking(this.url, SILENCE_MS);
    subscriber.connection.on('message', (_channel: string, message: string) => this.receive(message));
    // The client subscribes again after it has reconnected.
    subscriber.connection.subscribe(this.channel).catch(() => {});
    return subscriber;
  }

  /** Ignores any other text, which no process of this service publishes. */
  private receive(message: string): void {
    if (!/^\d+( \d+@\d+)+$/.test(message)) return;
    const [version, ...moves] = message.split(' ');
    const onMoved = this.listeners.get(Number(version));
    for (const move of onMoved ? moves : []) {
      const [partition, position] = move.split('@') as [string, string];
      onMoved?.(Number(partition), BigInt(position));
    }
  }
}
