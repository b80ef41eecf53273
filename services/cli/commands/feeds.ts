import type { Command } from 'commander';
import type { FeedIssue } from '../../../shared/api/responses/resources';
import { CHANNELS, type ChannelName } from '../../feeds/channels';
import { issuesOf } from '../../feeds/issues';
import { productsOf } from '../../feeds/products';
import { catchUpBeforeRead } from '../catch-up';
import { EXIT, withRuntime } from '../invocation';
import { choiceOption, storeOption, subcommand } from '../options';
import { table } from '../table';
import { requireStore } from './store';

interface CheckOptions {
  readonly store: string;
  readonly channel: ChannelName;
}

export function feedsCommands(program: Command): void {
  const feeds = program.command('feeds').description('Check what marketplaces and agents read');

  subcommand(feeds, 'check', 'List what a channel would refuse; fails if there is something')
    .addOption(choiceOption('--channel <channel>', 'Channel that reads the feed', Object.keys(CHANNELS)))
    .addOption(storeOption())
    .action(
      withRuntime<CheckOptions>(async ({ runtime, print }, { store, channel }) => {
        const { id: store_id, environment, name } = await requireStore(runtime, store);
        await catchUpBeforeRead(runtime, environment);
        const view = runtime.views[environment];
        // Only the lengths of addresses matter here.
        const base_url = `http://localhost:${runtime.config.PORT}`;
        const issues: FeedIssue[] = [];
        let products = 0;
        for await (const { product } of productsOf({ view, store_id, base_url, name, now: Date.now() })) {
          if (!product) continue;
          products++;
          issues.push(...issuesOf(product, CHANNELS[channel]));
        }
        await print({ channel, products, issues }, () => issuesText(products, issues));
        return issues.some(({ severity }) => severity === 'error') ? EXIT.failure : EXIT.ok;
      }),
    );
}

function issuesText(products: number, issues: readonly FeedIssue[]): string {
  if (issues.length === 0) return `No issues in ${products} products.\n`;
  return table(
    ['severity', 'product', 'title', 'variants', 'message'],
    issues.map(({ severity, publication_id, title, variant_count, message }) => [
      ...[severity, publication_id, title, variant_count, message],
    ]),
  );
}
