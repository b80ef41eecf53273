import { MongoClient } from 'mongodb';
import { verify } from '../../projections/maintenance/verify';
import { cleanFold, expectSameDocuments } from '../support/folding';
import { publicationId } from '../support/history';
import { ownNames, serversForTests } from '../support/own-servers';
import { readLog } from '../support/read-log';
import { describeOn } from '../support/real-servers';
import { openRealm } from '../support/realm';
import { REPAIRED_HISTORY, repairStories } from '../support/repair-stories';

describeOn('MONGODB_URL', 'a repair on MongoDB', (url) => {
  const open = () => ownNames(serversForTests());
  repairStories(open);

  test('rewrites what was changed in MongoDB itself', async () => {
    const servers = open();
    const realm = await openRealm(servers);
    const client = new MongoClient(url, { useBigInt64: true });
    try {
      const pipeline = await realm.pipeline();
      await realm.append(...REPAIRED_HISTORY);
      await pipeline.caughtUp();
      const active = await realm.active();
      const database = new URL(servers.settings.MONGODB_URL!).pathname.slice(1);
      const publications = client
        .db(`${database}_live`)
        .collection<{ _id: string }>(`publications_v${active.version}`);
      const stored = (await publications.findOne({ _id: publicationId(2) }))!;
      await publications.insertOne({ ...stored, _id: publicationId(999) });
      await publications.updateOne({ _id: publicationId(2) }, { $set: { words: ['nothing'] } });
      await publications.updateMany({ _id: publicationId(3) }, { $unset: { k: 1, state: 1 } });
      await publications.deleteMany({ _id: { $in: [publicationId(4), publicationId(5)] } });

      expect(await verify({ ...realm.parts, repairs: true })).toMatchObject({ clean: true, rewritten: 5 });
      await expectSameDocuments(active, await cleanFold(await readLog(realm.events)));
      expect(await publications.countDocuments({ _id: publicationId(999) })).toBe(0);
    } finally {
      await client.close();
      await realm.close();
      await servers.dispose();
    }
  });
});
