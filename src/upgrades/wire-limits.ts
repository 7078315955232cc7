import { Type } from 'typebox'

/** Limits of a whole upgrade, with any strategy. Signalbox's own fields. */
export const limitsOfAll = {
  max_in_flight: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description:
        'Devices that are upgraded at the same time, at all sites together; one that has downloaded and waits for its reboot does not count',
    }),
  ),
  max_downloads: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Devices that download at the same time, at all sites together',
    }),
  ),
  max_downloads_per_site: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Devices of a site that download at the same time' }),
  ),
  failure_budget: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: 'More failed devices, at all sites together, stop the upgrade',
    }),
  ),
}
