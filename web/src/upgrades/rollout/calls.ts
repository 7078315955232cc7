import { type Api, type Schemas, answerOf } from '../../api/client.ts'
import type { UpgradeKind } from '../overview.ts'
import type { Report, Upgrade } from '../upgrade.ts'

/** The kinds of upgrades that the engine of devices carries out. */
export type RolloutKind = Exclude<UpgradeKind, 'mxedge'>

export interface UpgradePlace {
  readonly orgId: string
  readonly upgradeId: string
  readonly kind: RolloutKind
}

interface UpgradePath {
  readonly org_id: string
  readonly upgrade_id: string
}

/** The operations of a kind of upgrades. */
interface Calls {
  record(api: Api, path: UpgradePath): Promise<Upgrade>
  report(api: Api, path: UpgradePath, query: { readonly devices?: false }): Promise<Report | string>
  target(api: Api, path: UpgradePath & { readonly device_mac: string }): Promise<Schemas['UpgradeTargetDetail']>
  cancel(api: Api, path: UpgradePath): Promise<unknown>
}

const calls: Readonly<Record<RolloutKind, Calls>> = {
  device: {
    record: (api, path) =>
      answerOf(api.GET('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}', { params: { path } })),
    report: (api, path, query) =>
      answerOf(api.GET('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}/report', { params: { path, query } })),
    target: (api, path) =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}/targets/{device_mac}', { params: { path } }),
      ),
    cancel: (api, path) =>
      answerOf(api.POST('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}/cancel', { params: { path } })),
  },
  ssr: {
    record: (api, path) => answerOf(api.GET('/api/v1/orgs/{org_id}/ssr/upgrade/{upgrade_id}', { params: { path } })),
    report: (api, path, query) =>
      answerOf(api.GET('/api/v1/orgs/{org_id}/ssr/upgrade/{upgrade_id}/report', { params: { path, query } })),
    target: (api, path) =>
      answerOf(api.GET('/api/v1/orgs/{org_id}/ssr/upgrade/{upgrade_id}/targets/{device_mac}', { params: { path } })),
    cancel: (api, path) =>
      answerOf(api.POST('/api/v1/orgs/{org_id}/ssr/upgrade/{upgrade_id}/cancel', { params: { path } })),
  },
}

function pathOf({ orgId, upgradeId }: UpgradePlace): UpgradePath {
  return { org_id: orgId, upgrade_id: upgradeId }
}

export function getRecord(api: Api, place: UpgradePlace) {
  return calls[place.kind].record(api, pathOf(place))
}

export async function getReport(
  api: Api,
  place: UpgradePlace,
  query: { readonly devices?: false } = {},
): Promise<Report> {
  const report = await calls[place.kind].report(api, pathOf(place), query)
  if (typeof report === 'string') throw new Error('The report is CSV instead of JSON')
  return report
}

export function getTarget(api: Api, place: UpgradePlace, mac: string) {
  return calls[place.kind].target(api, { ...pathOf(place), device_mac: mac })
}

/** The interface excludes no routers. */
export function excludeDevices(
  api: Api,
  { orgId, upgradeId }: UpgradePlace,
  { macs, note }: { readonly macs: readonly string[]; readonly note: string },
) {
  const params = { path: { org_id: orgId, upgrade_id: upgradeId } }
  const body = { macs: [...macs], ...(note !== '' && { note }) }
  return answerOf(api.POST('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}/exclude', { params, body }))
}

export function cancelUpgrade(api: Api, place: UpgradePlace) {
  return calls[place.kind].cancel(api, pathOf(place))
}
