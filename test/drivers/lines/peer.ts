import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { waitUntil } from '../../support/wait-until.ts'
import type { TestCall, TestPeer } from '../link-suite.ts'

export interface LineTarget {
  readonly port: number
  readonly mac: string
  readonly version?: string
}

/** Opens the connection of a device that speaks lines. */
export async function openLinePeer({ port, mac, version = '1.0.0' }: LineTarget): Promise<TestPeer> {
  const socket = connect(port, '127.0.0.1')
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.on('error', () => socket.destroy())
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  const calls: TestCall[] = []
  const callOf = (id: number, text: string): TestCall => ({
    id,
    text,
    accept: () => socket.write(`ok ${id} done\n`),
    refuse: (reason) => socket.write(`no ${id} ${reason}\n`),
  })
  createInterface({ input: socket }).on('line', (line) => {
    const [word, id, ...rest] = line.split(' ')
    if (word === 'do') calls.push(callOf(Number(id), rest.join(' ')))
  })
  return {
    closed,
    hello: () => socket.write(`hello ${mac} ${version}\n`),
    nextCall: () => waitUntil('a call from the gateway', () => calls.shift() ?? null),
    adopt: ({ id, text }) => callOf(id, text),
    drop: () => socket.destroy(),
  }
}
