import type { Command } from 'commander'
import { type Api, type Json, type JsonObject, objectOf } from '../api.ts'
import { CommandError } from '../exit-codes.ts'
import { textOf } from '../output.ts'
import { type Pair, collect, collectPairs, wholeNumber, wholeNumbers } from './command.ts'
import { findSite } from './find.ts'
import { type FoundUpgrade, findUpgrade, upgradeKinds } from './upgrade-kinds.ts'

export interface PlanOptions {
  readonly name?: string
  readonly site?: readonly string[]
  readonly type?: string
  readonly model?: readonly string[]
  readonly strategy?: string
  readonly phases?: readonly number[]
  readonly maxFailures?: number
  readonly start?: string
  readonly set?: readonly Pair[]
}

/** Adds a command with the options that choose devices and a strategy. */
export function planned(upgrade: Command, usage: string, description: string): Command {
  return upgrade
    .command(usage)
    .description(description)
    .option('--site <name or id>', 'only devices of this site; repeat it for several. Default: all sites', collect)
    .option('--type <type>', 'ap, switch or gateway')
    .option('--model <model>', 'only devices of this model; repeat it for several', collect)
    .option('--strategy <strategy>', 'big_bang, serial, canary or rrm')
    .option('--phases <shares>', 'cumulative shares of the canary phases in percent, such as 1,10,50,100', wholeNumbers)
    .option('--max-failures <percent>', 'stop once more than this percentage has failed', wholeNumber)
    .option('--start <time>', 'in the time zone of each site, such as 2026-12-01T02:00:00')
    .option('--name <text>', 'what people call the upgrade')
    .option('--set <field=value>', 'any other field of the request, its value as JSON or text; repeat it', collectPairs)
}

interface Wanted {
  readonly version: string
  readonly options: PlanOptions
  /** Further fields of the request. */
  readonly more: JsonObject
}

interface Requested {
  /** Where the request was made, as the beginning of a path: "/orgs/ID". */
  readonly place: string
  readonly answer: JsonObject
}

/**
 * Requests an upgrade of devices, or a preview, in the organization. A caller who may not write there, and names one site, requests
 * it at the site.
 */
export async function requestUpgrade(api: Api, orgId: string, { version, options, more }: Wanted): Promise<Requested> {
  const { site: named, ...rest } = options
  const siteIds: string[] = []
  for (const site of named ?? []) siteIds.push(await findSite(api, orgId, site))
  const [siteId] = siteIds
  const post = async (place: string, body: JsonObject): Promise<Requested> => {
    const answer = await api.post(`/api/v1${place}${upgradeKinds.device.path}`, { ...body, ...more })
    return { place, answer: objectOf(answer) }
  }
  const fields = fieldsOf(version, rest)
  const where = named === undefined ? { all_sites: true } : { site_ids: siteIds }
  try {
    return await post(`/orgs/${orgId}`, { ...where, ...fields })
  } catch (error) {
    const isForbidden = error instanceof CommandError && error.status === 403
    if (!isForbidden || siteId === undefined || siteIds.length > 1) throw error
    // There, only access points restart unless the request says so.
    return post(`/sites/${siteId}`, { reboot: true, ...fields })
  }
}

interface Started {
  /** Its record. */
  readonly made: JsonObject
  readonly watched: Pick<FoundUpgrade, 'kind' | 'id' | 'channel' | 'path'>
}

/** Starts an upgrade of devices where requestUpgrade() requests it. */
export async function startUpgrade(api: Api, orgId: string, wanted: Wanted): Promise<Started> {
  const { place, answer } = await requestUpgrade(api, orgId, wanted)
  const { id, upgrade_id: partId } = answer
  if (partId === undefined) {
    const channel = `${place}${upgradeKinds.device.path}`
    const path = `/api/v1${channel}/${encodeURIComponent(textOf(id))}`
    return { made: answer, watched: { kind: 'device', id: textOf(id), channel, path } }
  }
  // A site answers with the id of the part alone.
  const watched = await findUpgrade(api, place, textOf(partId))
  return { made: { ...objectOf(await api.get(watched.path)), id: watched.id }, watched }
}

function fieldsOf(version: string, options: Omit<PlanOptions, 'site'>): JsonObject {
  const { name, type, model, strategy, phases, maxFailures, start, set = [] } = options
  return {
    ...(name !== undefined && { name }),
    versions: [{ version }],
    ...(type !== undefined && { device_type: type }),
    ...(model !== undefined && { models: [...model] }),
    ...(strategy !== undefined && { reboot_strategy: strategy }),
    ...(phases !== undefined && { canary_phases: [...phases] }),
    ...(maxFailures !== undefined && { max_failure_percentage: maxFailures }),
    ...(start !== undefined && { start_datetime: start }),
    ...Object.fromEntries(set.map(([name, value]) => [name, jsonOrText(value)])),
  }
}

function jsonOrText(value: string): Json {
  try {
    return JSON.parse(value) as Json
  } catch {
    return value
  }
}
