import { fetch } from './fetch';

/** The status and the details of `/health/ready`. */
export interface Readiness {
  readonly status: number;
  readonly waiting_for: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: tests read any detail
  readonly [detail: string]: any;
}

export async function readinessOf({ url }: { readonly url: string }): Promise<Readiness> {
  const reply = await fetch(`${url}/health/ready`);
  const body = (await reply.json()) as { data?: Readiness; error?: { details: Readiness } };
  return { ...(body.data ?? body.error!.details), status: reply.status };
}
