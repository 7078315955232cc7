import { type Api, type Json, type JsonObject, listAll, rowsOf } from '../api.ts'
import { CommandError } from '../exit-codes.ts'
import { textOf } from '../output.ts'
import { query } from './command.ts'

/** Finds a site by its id or its name. @throws CommandError usage. */
export async function findSite(api: Api, orgId: string, named: string): Promise<string> {
  if (isUuid(named)) return named
  const path = `/api/v1/orgs/${orgId}/sites/search${query({ name: named, limit: 1000 })}`
  const found = rowsOf(await api.get(path)).filter(({ name }) => name === named)
  const [site] = found
  if (site !== undefined && found.length === 1) return textOf(site['id'])
  throw new CommandError(
    'usage',
    `${found.length === 0 ? 'no site is' : 'several sites are'} named ${JSON.stringify(named)}`,
  )
}

/** Returns the names of all sites of the organization by their ids. */
export async function siteNames(api: Api, orgId: string): Promise<ReadonlyMap<string, Json>> {
  const sites = await listAll(api, `/api/v1/orgs/${orgId}/sites${query({ limit: 1000 })}`)
  return new Map(sites.map(({ id, name }) => [textOf(id), name ?? null]))
}

export async function searchDevices(
  api: Api,
  orgId: string,
  { text, limit }: { readonly text: string; readonly limit: number },
): Promise<readonly JsonObject[]> {
  const plain = text.replaceAll(/[:.-]/g, '').toLowerCase()
  const isMac = /^[0-9a-f]{4,12}$/.test(plain)
  const searchBy = async (filter: Readonly<Record<string, string>>): Promise<readonly JsonObject[]> =>
    rowsOf(await api.get(`/api/v1/orgs/${orgId}/devices/search${query({ type: 'all', limit, ...filter })}`))
  const found = [
    ...(isMac ? await searchBy({ mac: plain.length === 12 ? plain : `${plain}*` }) : []),
    ...(await searchBy({ hostname: `*${text}*` })),
  ]
  return [...new Map(found.map((device) => [device['mac'], device])).values()].slice(0, limit)
}

/** Finds one device. @throws CommandError usage where none or several fit. */
export async function findDevice(api: Api, orgId: string, named: string): Promise<JsonObject> {
  const mac = macOf(named)
  const fitting = mac !== null ? [mac] : await macsNamed(api, orgId, named)
  const [only] = fitting
  if (only === undefined) throw new CommandError('usage', `no device is named ${JSON.stringify(named)}`)
  if (fitting.length > 1) throw new CommandError('usage', `several devices have this name: ${fitting.join(', ')}`)
  const path = `/api/v1/orgs/${orgId}/stats/devices${query({ type: 'all', mac: only })}`
  const [device] = rowsOf(await api.get(path))
  if (device === undefined) throw new CommandError('usage', `no device has the MAC address ${only}`)
  return device
}

/** Finds a device that can be commanded. @throws CommandError usage, also for one that is at no site. */
export async function findPlacedDevice(
  api: Api,
  orgId: string,
  named: string,
): Promise<{ readonly mac: string; readonly siteId: string; readonly path: string }> {
  const { id, site_id: siteId, mac } = await findDevice(api, orgId, named)
  if (typeof siteId !== 'string')
    throw new CommandError('usage', `device ${textOf(mac)} is at no site, and only those at a site are reached`)
  return { mac: textOf(mac), siteId, path: `/sites/${siteId}/devices/${textOf(id)}` }
}

async function macsNamed(api: Api, orgId: string, named: string): Promise<string[]> {
  const found = await searchDevices(api, orgId, { text: named, limit: 1000 })
  return found.flatMap(({ mac, hostname }) =>
    [hostname].flat().includes(named) && typeof mac === 'string' ? [mac] : [],
  )
}

/** The ids of devices end with their MAC addresses. */
function macOf(named: string): string | null {
  if (isUuid(named)) return named.slice(-12).toLowerCase()
  const plain = named.replaceAll(/[:.-]/g, '').toLowerCase()
  return /^[0-9a-f]{12}$/.test(plain) ? plain : null
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}
