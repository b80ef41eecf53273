import { Redis } from 'ioredis';
import { lostRecordsStories } from '../support/lost-records';
import { ownNames } from '../support/own-servers';
import { describeOn } from '../support/real-servers';
import { startOwnServer } from '../support/servers/own-server';

describeOn('REDIS_URL', 'idempotency on a Redis that is emptied', () => {
  lostRecordsStories('Redis', async () => {
    const server = await startOwnServer('redis');
    const redis = new Redis(server.url);
    return {
      servers: ownNames({ REDIS_URL: server.url }),
      lose: async () => {
        await redis.flushall();
      },
      dispose: async () => {
        redis.disconnect();
        await server.dispose();
      },
    };
  });
});
