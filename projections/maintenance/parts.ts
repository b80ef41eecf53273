import type { Realm } from '../../shared/catalog/realm';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import type { EventStore } from '../../shared/ports/event-store';
import type { ViewStore } from '../../shared/ports/view-store';

/** The stores of a process, with those of each realm. */
export interface MaintenanceStores {
  readonly events: Readonly<Record<Realm, EventStore>>;
  readonly viewStores: Readonly<Record<Realm, ViewStore>>;
  readonly system: System;
  readonly log: Logger;
}

/** Returns what the functions of this folder need of a realm. */
export function partsOf({ events, viewStores, system, log }: MaintenanceStores, realm: Realm) {
  return { realm, events: events[realm], views: viewStores[realm], system, log };
}
