import { type Api, type Schemas, answerOf } from '../api/client.ts'
import { type UpgradeKind, kinds } from './overview.ts'
import { noteOf } from './note-of.ts'
import type { Report, Upgrade } from './upgrade.ts'

/** The kinds of upgrades that the engine of devices carries out. Their operations have the same bodies and answers. */
export type RolloutKind = Exclude<UpgradeKind, 'mxedge'>

export interface UpgradePlace {
  readonly orgId: string
  readonly upgradeId: string
  readonly kind: RolloutKind
}

function baseOf({ kind }: UpgradePlace) {
  return `/api/v1/orgs/{org_id}${kinds[kind].path}/{upgrade_id}` as const
}

function pathOf({ orgId, upgradeId }: UpgradePlace) {
  return { org_id: orgId, upgrade_id: upgradeId }
}

export function getRecord(api: Api, place: UpgradePlace): Promise<Upgrade> {
  return answerOf<Upgrade>(api.GET(baseOf(place), { params: { path: pathOf(place) } }))
}

export async function getReport(
  api: Api,
  place: UpgradePlace,
  query: { readonly devices?: false } = {},
): Promise<Report> {
  return reportOf(await answerOf(api.GET(`${baseOf(place)}/report`, { params: { path: pathOf(place), query } })))
}

/** Returns the answer of a report, which has a form of another type, too. */
export function reportOf(answer: Report | string): Report {
  if (typeof answer === 'string') throw new Error('The report is CSV instead of JSON')
  return answer
}

export function getTarget(api: Api, place: UpgradePlace, mac: string): Promise<Schemas['UpgradeTargetDetail']> {
  const params = { path: { ...pathOf(place), device_mac: mac } }
  return answerOf(api.GET(`${baseOf(place)}/targets/{device_mac}`, { params }))
}

export function changeUpgrade(api: Api, place: UpgradePlace, change: 'pause' | 'resume' | 'cancel') {
  return answerOf(api.POST(`${baseOf(place)}/${change}`, { params: { path: pathOf(place) } }))
}

export function approveUpgrade(api: Api, place: UpgradePlace, body: Schemas['UpgradeApprovalCreate']) {
  return answerOf(api.POST(`${baseOf(place)}/approve`, { params: { path: pathOf(place) }, body }))
}

export function retryUpgrade(api: Api, place: UpgradePlace) {
  return answerOf(api.POST(`${baseOf(place)}/retry`, { params: { path: pathOf(place) }, body: {} }))
}

export function excludeDevices(
  api: Api,
  place: UpgradePlace,
  { macs, note }: { readonly macs: readonly string[]; readonly note: string },
) {
  const body = { macs: [...macs], ...noteOf(note) }
  return answerOf(api.POST(`${baseOf(place)}/exclude`, { params: { path: pathOf(place) }, body }))
}
