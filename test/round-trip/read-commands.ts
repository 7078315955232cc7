import { isObject } from '../../src/platform/json/is-object.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import type { Answer, TestServer } from '../support/servers/server.ts'
import type { Ids } from '../tenancy/area.ts'

interface Executed {
  readonly server: TestServer
  readonly ids: Ids
  readonly answer: Answer
}

/** Reads the result of a command, under the names of its body's fields, and cleans up for the next one. */
export type ReadCommand = (executed: Executed) => Promise<AnyJson>

/** The results of commands that clients can read afterwards, by operation. */
export const readCommands: Readonly<Record<string, ReadCommand>> = {
  upgradeOrgDevices: async ({ server, ids, answer }) => {
    const path = `/orgs/${ids['org_id']}/devices/upgrade/${answer.body.id}`
    const { body } = await server.call('GET', path)
    await server.call('POST', `${path}/cancel`)
    return body
  },
  upgradeSiteDevices: async ({ server, ids, answer: { body: made } }) => {
    const path = `/sites/${ids['site_id']}/devices/upgrade`
    const { body } = await server.call('GET', path)
    await server.call('POST', `${path}/${made.upgrade_id}/cancel`)
    return body.find(({ id }: AnyJson) => id === made.upgrade_id)
  },
  provisionInstallerDevices: async ({ server, ids }) => {
    const { body } = await server.call('GET', `/sites/${ids['site_id']}/devices/${ids['device_id']}`)
    return body
  },
  createOrUpdateInstallerSites: async ({ server, ids }) => {
    const { body } = await server.call('GET', `/installer/orgs/${ids['org_id']}/sites?limit=1000`)
    return body.find(({ name }: AnyJson) => name === ids['site_name'])
  },
  restartSiteDevice: readParams,
  startSiteLocateDevice: readParams,
  pingFromDevice: readParams,
}

async function readParams({ server, ids }: Executed): Promise<AnyJson> {
  const path = `/sites/${ids['site_id']}/devices/${ids['device_id']}/commands`
  const [newest] = (await server.call('GET', path)).body
  return isObject(newest['params']) ? newest['params'] : {}
}
