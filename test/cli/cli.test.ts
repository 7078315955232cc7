import { execFile } from 'node:child_process'
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { switchSerial } from '../support/peers/client-certificates.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { startServerProcess } from '../support/servers/server-process.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const run = promisify(execFile)

async function cli(dataDir: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, SIGNALBOX_DATA_DIR: dataDir }
  return (await run(process.execPath, [await builtProgram('cli'), ...args], { env })).stdout
}

it(
  'bootstraps, imports a large manifest, lists unclaimed devices, issues and revokes certificates',
  { timeout: 120_000 },
  async () => {
    const dataDir = await temporaryDir()
    const server = await startServerProcess({ dataDir })
    const account = ['--email', 'a@b.test', '--password', 'correct horse battery', '--org', 'Mine', '--json']
    const made = JSON.parse(await cli(dataDir, 'bootstrap', ...account)) as Record<string, string>
    expect(Object.keys(made).sort()).toEqual(['admin_id', 'api_token', 'org_id'])
    const headers = { authorization: `Token ${made['api_token']}` }
    expect((await fetch(`${server.url}/api/v1/orgs/${made['org_id']}`, { headers })).status).toBe(200)
    // `signalbox` is the program of those who operate networks.
    expect(await cli(dataDir, '--help')).toMatch(/^Usage: cli /)
    await expect(cli(dataDir, 'bootstrap', ...account)).rejects.toMatchObject({
      stderr: expect.stringMatching(/^signalbox: The address a@b\.test has an account already \(POST [^ ]+: 400\)\n$/),
    })

    const rows = Array.from({ length: 4500 }, (_, index) => {
      const mac = `02${index.toString(16).padStart(10, '0')}`
      return `${mac},S${index},EAP102,CODE-${String(index).padStart(11, '0')}`
    })
    const manifest = join(dataDir, 'manifest.csv')
    await writeFile(manifest, ['mac,serial,model,claim_code', ...rows, 'nonsense,S,EAP102,CODE-X'].join('\n'))
    expect(JSON.parse(await cli(dataDir, 'import-manifest', manifest, '--json'))).toEqual({
      imported: 4500,
      unchanged: 0,
      conflicts: [{ row: 4500, line: 4502, mac: 'nonsense', column: 'mac', reason: 'invalid mac' }],
    })
    const unclaimed = JSON.parse(await cli(dataDir, 'unclaimed')) as { mac: string; claim_code: string }[]
    expect(new Set(unclaimed.map(({ mac }) => mac)).size).toBe(4500)
    expect(JSON.parse(await cli(dataDir, 'unclaimed', '02:00:00:00:10:00'))).toMatchObject({
      mac: '020000001000',
      claim_code: 'CODE00000004096',
    })
    await expect(cli(dataDir, 'unclaimed', '020000001000', '--mxedges')).rejects.toMatchObject({
      stderr: expect.stringMatching(
        /^signalbox: No unclaimed edge appliance has the MAC 020000001000 \(GET [^ ]+: 404\)\n$/,
      ),
    })

    const storage = JSON.parse(await cli(dataDir, 'storage', '--json')) as Record<string, unknown>
    expect(storage).toMatchObject({ firmware: { used_bytes: 0, org_max_bytes: 100 * 1024 ** 3 }, orgs: [] })

    const out = join(dataDir, 'certificate')
    await cli(dataDir, 'device-certificate', '02:00:00:00:00:01', '--out', out)
    expect((await stat(join(out, 'key.pem'))).mode & 0o777).toBe(0o600)
    const { serialNumber } = new X509Certificate(await readFile(join(out, 'cert.pem')))
    const revoked = await cli(dataDir, 'revoke-device-certificate', '02:00:00:00:00:01', '--serial', serialNumber)
    const serial = serialNumber.toLowerCase().replace(/^0+/, '')
    expect(JSON.parse(revoked)).toEqual({ mac: '020000000001', serial })
    const key = createPrivateKey(await readFile(join(out, 'key.pem')))
    // The formats of current access point firmware, then of switches and older access point firmware.
    for (const [name, caName] of [
      ['operational.pem', 'operational.ca'],
      ['cert.pem', 'cas.pem'],
    ] as const) {
      const pem = await readFile(join(out, name), 'utf8')
      const certificate = new X509Certificate(pem)
      expect(certificate.verify(new X509Certificate(await readFile(join(out, caName))).publicKey)).toBe(true)
      expect(certificate.checkPrivateKey(key)).toBe(true)
      expect(switchSerial(pem)).toBe('020000000001')
    }
  },
)

it('prints one line if no server runs', async () => {
  const dataDir = await temporaryDir()
  await expect(cli(dataDir, 'unclaimed')).rejects.toMatchObject({
    stderr: `signalbox: no Signalbox has run with the data folder ${dataDir}; npm start makes it\n`,
  })
})
