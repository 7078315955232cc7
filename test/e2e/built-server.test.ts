import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { LARGE } from '../http/requests/apart/apart-world.ts'
import { picture } from '../maps/pictures.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { programsOf } from '../support/servers/programs-of.ts'
import { startServerProcess } from '../support/servers/server-process.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bootstrap, callerOf } from '../webhooks/bootstrap.ts'

const source = (path: string): string => fileURLToPath(new URL(`../../src/${path}`, import.meta.url))

it.skipIf(process.platform !== 'linux')(
  'starts expensive requests from the build, and decoders of pictures from their sources',
  { timeout: 120_000 },
  async () => {
    const dataDir = join(await temporaryDir(), 'data')
    const { url, child } = await startServerProcess({ dataDir })
    const { org_id: orgId, api_token: token } = await bootstrap(url, dataDir)
    const authorization = `Token ${token}`
    const call = callerOf(url, authorization)
    const site = (await call('POST', `/api/v1/orgs/${orgId}/sites`, { name: 'Here' })) as AnyJson
    const map = (await call('POST', `/api/v1/sites/${site.id}/maps`, { name: 'Floor', type: 'image' })) as AnyJson
    const form = new FormData()
    form.append('file', new File([new Uint8Array(await picture(64, 48))], 'plan.png', { type: 'image/png' }))
    const image = `${url}/api/v1/sites/${site.id}/maps/${map.id}/image`
    expect((await fetch(image, { method: 'POST', headers: { authorization }, body: form })).status).toBe(200)
    expect(programsOf(child.pid)).toContain(source('platform/images/decoder-starter.ts'))

    const operate = callerOf(url, `Operator ${(await readFile(join(dataDir, 'operator.key'), 'utf8')).trim()}`)
    const account = { email: 'bo@example.test', password: 'a horse of another colour', org: 'Neighbors' }
    const neighbor = (await operate('POST', '/operator/v1/bootstrap', account)) as AnyJson
    const apart = join(await builtProgram('server'), '../apart-process.mjs')
    await waitUntil('the process of expensive requests', async () => {
      await fetch(`${url}/api/v1/self`, { headers: { authorization: `Token ${neighbor.api_token}` } })
      await call('PUT', `/api/v1/orgs/${orgId}/setting`, { note: LARGE })
      return programsOf(child.pid).includes(apart)
    })
  },
)
