import { randomBytes } from 'node:crypto';
import { fetch } from '../support/fetch';
import { Fleet } from '../support/fleet';
import { createSecretKey, fetchToken } from '../support/merchant';
import { ownNames } from '../support/own-servers';
import { endAll } from '../support/processes';
import { describeOn } from '../support/real-servers';
import { withTempDir } from '../support/temp-dir';
import { TraceReceiver } from '../support/trace-receiver';

describeOn('REDIS_URL', 'on a real server', (REDIS_URL) => {
  let receiver: TraceReceiver;
  beforeEach(async () => {
    receiver = await TraceReceiver.start();
  });
  afterEach(() => {
    endAll();
    receiver.stop();
  });

  test('a write is one trace over the command process and the worker', async () => {
    const servers = ownNames({ REDIS_URL });
    await withTempDir(async (folder) => {
      const settings = { ...servers.settings, DATA_DIR: folder, DEMO: 'off', ...receiver.settings };
      const key = await createSecretKey(settings);
      const fleet = new Fleet(settings);
      await fleet.start('command-1', 'worker-1');
      const token = await fetchToken(fleet.url('command-1'), key);
      const [trace_id, client_span] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
      const reply = await fetch(`${fleet.url('command-1')}/api/publication`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          traceparent: `00-${trace_id}-${client_span}-01`,
        },
        body: JSON.stringify({ title: 'Cup', price_currency: 'EUR', price_amount: 100 }),
      });
      expect(reply.status).toBe(201);

      const names = ['POST /api/publication', 'event_store.append', 'process live', 'projection.run'];
      const spans = await receiver.waitForSpans(trace_id, names);
      const [request, append, job, projection] = names.map(
        (name) => spans.find((span) => span.name === name)!,
      );
      expect([request, append, job, projection].map((span) => span!.service)).toEqual([
        'catalog-command',
        'catalog-command',
        'catalog-worker',
        'catalog-worker',
      ]);
      expect(request!.parent_id).toBe(client_span);
      expect(append!.parent_id).toBe(request!.span_id);
      expect(job).toMatchObject({
        parent_id: append!.span_id,
        attributes: { 'messaging.system': 'bullmq' },
      });
      expect(projection!.parent_id).toBe(job!.span_id);
      const codes = await fleet.stop();
      expect(codes).toEqual({ 'command-1': 0, 'worker-1': 0 });
    });
    await servers.dispose();
  });
});
