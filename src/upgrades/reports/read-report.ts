import type { SitesScope } from '../../access/scope.ts'
import type { Reader } from '../../platform/database/db.ts'
import type { LeftOutDevice, ReportSummary, ReportedDevice, ReportedSite, ReportedUpgrade } from './report.ts'
import { DEVICES_PER_PART, type DeviceKey, findLeftOut, listReportedDevices } from './store.ts'
import { findSummary } from './store-summary.ts'

/** A device of a report, with its site. */
export type ReportRow = { readonly site: ReportedSite } & (
  | { readonly kind: 'target'; readonly device: ReportedDevice }
  | { readonly kind: 'leftOut'; readonly device: LeftOutDevice }
)

/** A report whose devices are read as they are consumed, so that its size costs no memory. */
export interface Report {
  readonly summary: ReportSummary
  /** The targets by site, then the devices that were left out by site. */
  readonly rows: () => AsyncGenerator<ReportRow>
}

const FIRST = '00000000-0000-0000-0000-000000000000'

export async function readReport(reader: Reader, scope: SitesScope, upgrade: ReportedUpgrade): Promise<Report> {
  const summary = await findSummary(reader, scope, upgrade)
  const sites = new Map(summary.sites.map((site) => [site.id, site]))
  async function* rows(): AsyncGenerator<ReportRow> {
    for (const siteUpgradeIds of groupSites(summary.sites)) yield* targetsOf(reader, scope, { siteUpgradeIds, sites })
    yield* leftOutOf(reader, scope, { upgrade, sites })
  }
  return { summary, rows }
}

/** Groups site upgrades so that one statement reads many small ones, or one large one in parts. */
function groupSites(sites: readonly ReportedSite[]): string[][] {
  const groups: string[][] = []
  let room = 0
  for (const { id, total } of sites) {
    if (total > room) groups.push([])
    room = total > room ? DEVICES_PER_PART - total : room - total
    groups.at(-1)?.push(id)
  }
  return groups
}

type Sites = ReadonlyMap<string, ReportedSite>

async function* targetsOf(
  reader: Reader,
  scope: SitesScope,
  { siteUpgradeIds, sites }: { readonly siteUpgradeIds: readonly string[]; readonly sites: Sites },
): AsyncGenerator<ReportRow> {
  for (let after: DeviceKey | undefined = { upgradeId: FIRST, deviceId: FIRST }; after !== undefined;) {
    const part: ReportedDevice[] = await listReportedDevices(reader, scope, { siteUpgradeIds, after })
    for (const device of part) {
      const site = sites.get(device.upgradeId)
      if (site !== undefined) yield { kind: 'target', site, device }
    }
    after = part.length < DEVICES_PER_PART ? undefined : part.at(-1)
  }
}

async function* leftOutOf(
  reader: Reader,
  scope: SitesScope,
  { upgrade, sites }: { readonly upgrade: ReportedUpgrade; readonly sites: Sites },
): AsyncGenerator<ReportRow> {
  for (let after: string | undefined = FIRST; after !== undefined;) {
    const found = await findLeftOut(reader, scope, { upgrade, after })
    const site = found && sites.get(found.upgradeId)
    for (const device of found?.devices ?? []) if (site !== undefined) yield { kind: 'leftOut', site, device }
    after = found?.upgradeId
  }
}
