import type { DeletedWebhook, Delivery, Webhook } from './api.js';
import type { Calls } from './calls.js';
import type { AnswerOf, BodyOf, QueryOf } from './operations.js';
import type { ListOptions, ReadOptions, WriteOptions } from './options.js';
import type { Pages } from './pages.js';
import { listOf } from './pages.js';

/** Webhooks of a store: addresses that its changes are sent to. */
export class WebhookCalls {
  constructor(private readonly calls: Calls) {}

  /**
   * Creates a webhook. The answer has the `secret` that signs its messages.
   *
   * @example
   * const { id, secret } = await client.webhooks.create({ url: 'https://erp.example/catalog' });
   */
  create(body: BodyOf<'createWebhook'>, options: WriteOptions = {}): Promise<Webhook> {
    return this.calls.write('createWebhook', { body }, options);
  }

  /** Lists the store's webhooks, oldest first. */
  list(
    query: QueryOf<'listWebhooks'> = {},
    options: ListOptions = {},
  ): Pages<Webhook, AnswerOf<'listWebhooks'>> {
    return listOf((page) => this.calls.page('listWebhooks', { query: page }, options), query);
  }

  get(id: string, options: ReadOptions<Webhook> = {}): Promise<Webhook> {
    return this.calls.read('getWebhook', { id }, options);
  }

  /**
   * Changes fields. With `status: 'active'`, what was not delivered is tried again.
   *
   * @example
   * await client.webhooks.update(id, { status: 'paused' });
   */
  update(id: string, body: BodyOf<'updateWebhook'>, options: WriteOptions = {}): Promise<Webhook> {
    return this.calls.write('updateWebhook', { id, body }, options);
  }

  delete(id: string, options: WriteOptions = {}): Promise<DeletedWebhook> {
    return this.calls.write('deleteWebhook', { id }, options);
  }

  /** Sends a message of the type `webhook.ping`. */
  ping(id: string, options: WriteOptions = {}): Promise<Webhook> {
    return this.calls.write('pingWebhook', { id }, options);
  }

  /** Replaces the secret. The answer has the new one; both sign for a day. */
  rotateSecret(id: string, options: WriteOptions = {}): Promise<Webhook> {
    return this.calls.write('rotateWebhookSecret', { id }, options);
  }

  /**
   * Sends the changes after one of them again.
   *
   * @example
   * await client.webhooks.replay(id, { from: '-1' });
   */
  replay(id: string, body: BodyOf<'replayWebhook'>, options: WriteOptions = {}): Promise<Webhook> {
    return this.calls.write('replayWebhook', { id, body }, options);
  }

  /** Lists the last attempts to deliver, newest first. */
  deliveries(
    id: string,
    query: QueryOf<'listDeliveries'> = {},
    options: ListOptions = {},
  ): Pages<Delivery, AnswerOf<'listDeliveries'>> {
    return listOf((page) => this.calls.page('listDeliveries', { id, query: page }, options), query);
  }
}
