import { z } from 'zod';

/* The enumerations in events and responses (docs/interface/README.md). */

export const visibilitySchema = z.enum(['public', 'private']);
export type Visibility = z.infer<typeof visibilitySchema>;

export const storeStatusSchema = z.enum(['active', 'inactive', 'suspended']);
export type StoreStatus = z.infer<typeof storeStatusSchema>;

export const sortModeSchema = z.enum([
  'created_at_desc',
  'created_at_asc',
  'price_asc',
  'price_desc',
  'name_asc',
  'name_desc',
]);
export type SortMode = z.infer<typeof sortModeSchema>;

/** The orders that a read can ask for. Events store only the orders of `sortModeSchema`, because earlier releases read them. */
export const listSortModeSchema = z.enum([...sortModeSchema.options, 'rating_desc', 'rating_asc']);
export type ListSortMode = z.infer<typeof listSortModeSchema>;

export const paymentMethodTypeSchema = z.enum(['cash', 'card', 'bank_transfer', 'wallet', 'other']);

/** The image types that can be uploaded. The service detects them from the file's bytes (docs/interface/media.md#uploads). */
export const imageTypeSchema = z.enum(['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/avif']);
export type ImageType = z.infer<typeof imageTypeSchema>;

/** The variants of every picture, the smallest first: at most 200, 480, 960 and 1600 px wide. */
export const variantNameSchema = z.enum(['thumb', 'small', 'medium', 'large']);
export type VariantName = z.infer<typeof variantNameSchema>;

export const mediaStatusSchema = z.enum(['processing', 'ready', 'failed']);

/** Storefronts show `published` reviews only. */
export const reviewStatusSchema = z.enum(['pending', 'published', 'rejected']);
export type ReviewStatus = z.infer<typeof reviewStatusSchema>;

export const environmentSchema = z.enum(['live', 'test']);
export const keyTypeSchema = z.enum(['public', 'secret']);
export type KeyType = z.infer<typeof keyTypeSchema>;

export const permissionSchema = z.enum([
  'read:stores',
  'read:listings',
  'read:publications',
  'read:media',
  'read:payment_methods',
  'read:reviews',
  'write:listings',
  'write:publications',
  'write:media',
  'write:stores',
  'write:reviews',
  'write:webhooks',
]);
export type Permission = z.infer<typeof permissionSchema>;

/**
 * Returns every permission that a key of this type can have. A key may be created with fewer
 * (docs/interface/access.md#permissions).
 */
export function permissionsOf(type: KeyType): Permission[] {
  return permissionSchema.options.filter((name) => type === 'secret' || name.startsWith('read:'));
}

/** The formats of files that an import reads (docs/import.md). */
export const IMPORT_FORMATS = [
  'shopify',
  'woocommerce',
  'google',
  'jsonl',
  'prices',
  'translations',
] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

/** The types of files that an import reads, which it recognises by their content. */
export const FILE_TYPES = ['csv', 'json', 'xml', 'xlsx'] as const;
export type FileType = (typeof FILE_TYPES)[number];

/** What can be done with a file that was uploaded for an import. */
export const IMPORT_STEPS = ['preview', 'import', 'undo'] as const;
export type ImportStep = (typeof IMPORT_STEPS)[number];

/** What became of a write that needs confirmation. */
export const PROPOSAL_STATUSES = ['waiting', 'confirmed', 'rejected', 'expired'] as const;
export type ProposalStatus = (typeof PROPOSAL_STATUSES)[number];

/** What became of a row of an import, in its report. `warning`: it was imported with a change. */
export const ROW_OUTCOMES = ['created', 'updated', 'failed', 'warning', 'kept'] as const;
export type RowOutcome = (typeof ROW_OUTCOMES)[number];
