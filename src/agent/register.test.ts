import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { deleteCertificate, readCredentials, writeCredentials } from './register.ts'
import { openState } from './state.ts'

it('the removal of a certificate leaves its key for the next registration, also after a renewal', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-agent-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const state = await openState(folder)
  await deleteCertificate(state)
  expect(await state.read('key.pem')).toBeNull()
  const gateway = { host: 'localhost', port: 15003 }
  await state.write('key.pem', 'the key of the registration')
  await writeCredentials(state, { key: 'the key of the renewal', certificate: 'certificate', ca: 'ca', gateway })
  await deleteCertificate(state)
  expect(await readCredentials(state)).toBeNull()
  expect(await state.read('key.pem')).toBe('the key of the renewal')
})
