import { afterAll, beforeAll, expect, it } from 'vitest'
import { readCommands } from './round-trip/read-commands.ts'
import { EMPTY, isEmpty, propertiesOf, typicalValues } from './round-trip/schema-values.ts'
import { type Tried, isSame } from './round-trip/write-values.ts'
import type { AnyJson } from './support/contract/any-json.ts'
import { hasContract, readAddedProperties, readContract } from './support/contract/contract.ts'
import { type Answer, type TestServer, startTestServer } from './support/servers/server.ts'
import { type Areas, makeAreas } from './tenancy/areas.ts'
import { callSample } from './tenancy/call-sample.ts'

let server: TestServer
let areas: Areas
beforeAll(async () => {
  if (!hasContract) return
  server = await startTestServer(undefined, { requestsPerHour: 1_000_000 })
  areas = await makeAreas(server)
}, 60_000)
afterAll(async () => {
  if (hasContract) await server.close()
})

/** The name of the site that an installer creates. */
const NAME = 'Somewhere'

/** Operations whose bodies are not records that can be read back, by the contract's schema of the body. */
const commands: Readonly<Record<string, string>> = {
  upgradeOrgDevices: 'upgrade_org_devices',
  upgradeSiteDevices: 'upgrade_site_devices',
  upgradeDevice: 'device_upgrade',
  provisionInstallerDevices: 'installer_provision_device',
  createOrUpdateInstallerSites: 'installer_site',
  restartSiteDevice: 'utils_devices_restart',
  startSiteLocateDevice: 'locate_switch',
  pingFromDevice: 'utils_ping',
}

/** Fields that a value makes impossible: there is no firmware for the routers, which another type of device selects. */
const consequences: Readonly<Record<string, string>> = { device_type: 'versions' }

interface Outcome {
  readonly name: string
  readonly answer: Answer
  readonly isNamed: boolean
  /** The value that is read instead of the sent one; null if it is the same, or can't be read. */
  readonly altered: string | null
}

async function callWith(id: string, { property, value }: Tried): Promise<Outcome> {
  const operation = server.operations.find((one) => one.id === id)
  const sample = areas.samples[id]
  if (operation === undefined || sample === undefined) throw new Error(`no sample of ${id}`)
  const [top = ''] = property.path
  const needed = { ...(sample.body as object), ...(id === 'createOrUpdateInstallerSites' && { name: NAME }) }
  const body: Record<string, unknown> = { ...property.wrap(value), ...needed, [top]: property.wrap(value)[top] }
  const ids = { ...areas.ids, ...sample.ids, ...(id === 'createOrUpdateInstallerSites' && { site_name: NAME }) }
  const answer = await callSample(server, operation, { sample: { ...sample, body }, ids })
  const read = answer.status === 200 ? await readCommands[id]?.({ server, ids, answer }) : undefined
  const { detail, id: missing } = answer.status === 200 ? {} : answer.body
  return {
    name: `${id} ${property.path.join('.')} = ${JSON.stringify(value)}`,
    answer,
    isNamed:
      (answer.status === 400 && [top, consequences[top] ?? top].some((field) => detail.includes(field))) ||
      (answer.status === 404 && missing === value),
    altered: alteredIn(read, top, body[top]),
  }
}

/** A command leaves nothing behind of a value without content: it is then at its default, or not there. */
function alteredIn(read: AnyJson, top: string, sent: unknown): string | null {
  if (read === undefined || isEmpty(sent)) return null
  if (!(top in read)) return null
  compared.add(top)
  return isSame(read[top], sent, []) ? null : `read ${JSON.stringify(read[top])}`
}

const compared = new Set<string>()

it.skipIf(!hasContract)(
  'takes every value of a property of a command, or refuses it by name',
  async () => {
    const known = {
      ...{ site_id: areas.ids['site_id'], site_ids: [areas.ids['site_id']], map_id: areas.ids['map_id'] },
      ...{ id: null, name: NAME, timezone: 'Europe/Berlin', sitegroup_names: [] },
    }
    const source = { document: readContract(), added: readAddedProperties(), known, beside: {} }
    const outcomes: Outcome[] = []
    for (const [id, schema] of Object.entries(commands))
      for (const property of propertiesOf(source, schema))
        for (const value of [...typicalValues(source, property), ...EMPTY])
          outcomes.push(await callWith(id, { property, value }))
    const told = ({ name, answer }: Outcome) => `${name}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`
    // A device has only one upgrade at a time: the later ones are understood, and refused because of the first.
    const isTaken = ({ answer: { status, body } }: Outcome) => status === 200 || body.upgrade_id !== undefined
    const refused = outcomes.filter((outcome) => !isTaken(outcome))
    expect(refused.filter(({ isNamed }) => !isNamed).map(told)).toEqual([])
    const altered = outcomes.filter(({ altered }) => altered !== null)
    expect(altered.map(({ name, altered }) => `${name}: ${altered}`)).toEqual([])
    expect(outcomes.length).toBeGreaterThan(400)
    expect(compared.size).toBeGreaterThan(15)
  },
  120_000,
)
