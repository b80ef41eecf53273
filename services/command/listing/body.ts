import type { z } from 'zod';
import { listingPatchBody, newListingBody } from '../../../shared/api/requests/writes';

/** The bodies of the interface, as they are. */
export const newListingSchema = newListingBody;
export const listingPatchSchema = listingPatchBody;

export type NewListing = z.output<typeof newListingSchema>;
export type ListingPatch = z.output<typeof listingPatchSchema>;
