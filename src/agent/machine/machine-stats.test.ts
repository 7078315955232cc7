import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Compile } from 'typebox/compile'
import { expect, test } from 'vitest'
import { temporaryDir } from '../../../test/support/temporary-dir.ts'
import { MachineStats } from '../../mxedges/sessions/machine.ts'
import { createMachineStats } from './machine-stats.ts'

async function machineWith(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await temporaryDir()
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  return root
}

test('ports, LAGs, memory and the kind of machine are read from Linux', async () => {
  const read = createMachineStats(
    await machineWith({
      'proc/meminfo': 'MemTotal: 8 kB\n',
      'proc/net/dev': '  eth0: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n',
      'sys/class/dmi/id/sys_vendor': 'QEMU\n',
      'sys/class/net/lo/operstate': 'unknown\n',
      'sys/class/net/bond0/bonding/slaves': 'eth0 eth1\n',
      'sys/class/net/bond0/operstate': 'up\n',
      'sys/class/net/eth0/operstate': 'up\n',
      'sys/class/net/eth0/speed': '10000\n',
      'sys/class/net/eth0/duplex': 'full\n',
      'sys/class/net/eth0/address': '02:00:00:00:00:01\n',
      'sys/class/net/eth1/operstate': 'down\n',
      'sys/class/net/eth1/speed': '-1\n',
    }),
  )
  const traffic = { rx_bytes: 1, rx_pkts: 2, rx_errors: 0, tx_bytes: 3, tx_pkts: 4, tx_errors: 0 }
  expect(await read()).toEqual({
    memory: { total: 8192 },
    virtualization: 'kvm',
    interfaces: {
      bond0: { up: true, state: 'up' },
      eth0: { up: true, state: 'up', mac: '020000000001', speed: 10_000, full_duplex: true, ...traffic },
      eth1: { up: false, state: 'down' },
    },
    lags: { bond0: ['eth0'] },
  })
})

test('statistics are empty on a system without /proc and /sys', async () => {
  expect(await createMachineStats(await machineWith({}))()).toEqual({})
})

test('the gateway accepts the statistics of this machine', async () => {
  const read = createMachineStats()
  await read()
  const stats = await read()
  expect(Compile(MachineStats).Errors(stats)).toEqual([])
})
