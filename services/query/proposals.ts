import { reads } from '../../shared/api/operations/reads';
import { proposalResource, proposalStatus } from '../../shared/catalog/proposal/proposal';
import type { SortOrder } from '../../shared/catalog/sorting';
import type { ProposalStatus } from '../../shared/catalog/vocabulary';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { parseQuery } from '../../shared/http/validation';
import { bodiesAnswer, pageOf, placeOf } from './list-place';
import {
  findById,
  openForId,
  openStore,
  type ReadDeps,
  requestedStore,
  requireSecretKey,
  requireStore,
} from './read';

const NEWEST_FIRST: SortOrder = [
  ['expires_ms', 'desc'],
  ['id', 'desc'],
];

/** Handles `GET /api/proposals`. */
export async function readProposals(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  requireSecretKey(request, 'A list of proposals');
  const query = parseQuery(reads.listProposals.query, request.query);
  const store_id = requestedStore(request);
  const version = await openStore(deps, request, store_id);
  const now_ms = deps.now();
  const where = { store_id, ...(query.status && withStatus(query.status, now_ms)) };
  const place = placeOf(request, query, 'proposals', NEWEST_FIRST);
  const [page, total] = await Promise.all([
    version.find('proposals', { where, order: NEWEST_FIRST, ...pageOf(place) }),
    version.count('proposals', where),
    requireStore(version, store_id),
  ]);
  const { data, meta } = bodiesAnswer(place, page, total);
  const shown = data.map((body) => {
    const { status, expires_at } = body as { readonly status: 'waiting'; readonly expires_at: string };
    return { ...body, status: proposalStatus(status, expires_at, now_ms) };
  });
  return { data: shown, meta };
}

function withStatus(status: ProposalStatus, now_ms: number) {
  if (status === 'waiting') return { status, expires_ms: { gte: now_ms + 1 } };
  return status === 'expired' ? { status: 'waiting', expires_ms: { lte: now_ms } } : { status };
}

/** Handles `GET /api/proposal/:id`. */
export async function readProposal(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  requireSecretKey(request, 'A proposal');
  parseQuery(reads.getProposal.query, request.query);
  const version = await openForId(deps, request, 'proposals');
  const read = { visibility: 'all', isVisible: () => true, parts: ['state'] } as const;
  const { proposal } = (await findById(deps, request, version, 'proposals', read)).document.state;
  return { data: proposalResource(proposal, deps.now()), version: proposal.version };
}
