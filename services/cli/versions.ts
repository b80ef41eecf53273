import type { ViewStore } from '../../shared/ports/view-store';

/** Deletes what a rebuild has replaced, and gives the numbers; what is built or fed for the next one stays. */
export async function dropRetired(views: ViewStore): Promise<number[]> {
  const retired = (await views.versions()).filter(({ status }) => status === 'retired');
  for (const { version } of retired) await views.drop(version);
  return retired.map(({ version }) => version);
}
