import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { deviceEventTypes } from '../src/events/device-event-types.ts'
import { mxedgeEventTypes } from '../src/events/append-mxedge.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
/** Tests in which events happen; the others name types only to insert, list or describe them. */
const tests = globSync('{edge,gateway,http,netconf,rollout,e2e}/**/*.test.ts', { cwd: folder })
  .filter((name) => !name.endsWith('constants.test.ts'))
  .map((name) => readFileSync(folder + name, 'utf8'))

/** A type that no test expects may never be emitted: a catalogue that lists it would promise too much. */
describe('the catalogues of events list only types that a test expects', () => {
  it.each(mxedgeEventTypes().map(({ key }) => key))('%s', (key) => {
    expect(tests.some((text) => text.includes(`'${key}'`))).toBe(true)
  })

  const names = new Set(deviceEventTypes().map(({ key }) => key.replace(/^[A-Z]+_/, '')))
  it.each([...names])('AP_, SW_ or GW_%s', (name) => {
    expect(tests.some((text) => ['AP', 'SW', 'GW'].some((family) => text.includes(`'${family}_${name}'`)))).toBe(true)
  })

  it('and all of edge appliances that clients know', () => {
    const known = ['CONNECTED', 'DISCONNECTED', 'SERVICE_STARTED', 'SERVICE_STOPPED', 'SERVICE_FAILED']
    const packages = ['PACKAGE_UPDATE_BY_USER', 'PACKAGE_UPDATED', 'PACKAGE_UPDATE_FAILED', 'CONFIG_CHANGED_BY_USER']
    const keys = mxedgeEventTypes().map(({ key }) => key)
    expect(keys).toEqual(expect.arrayContaining([...known, ...packages].map((name) => `ME_${name}`)))
  })
})
