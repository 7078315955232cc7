import { beforeAll, describe, expect, test } from 'vitest'
import type { Protocol } from '../../src/gateway/protocol.ts'
import { type GatewayHarness, type RunningGateway, createGatewayHarness } from '../gateway/harness.ts'
import { waitUntil } from '../support/wait-until.ts'

/** A device or an edge appliance, on the other end of a real connection. */
export interface TestPeer {
  /** Resolves when the gateway, or the test, has closed the connection. */
  readonly closed: Promise<unknown>
  /** Sends the hello of a device. */
  hello(): void
  nextCall(): Promise<TestCall>
  /** A call of an older connection, to be answered on this one. */
  adopt(call: TestCall): TestCall
  /** Breaks the connection. */
  drop(): void
}

export interface TestCall {
  readonly id: number
  /** The whole text of the call. */
  readonly text: string
  accept(): void
  refuse(reason: string): void
}

/** A command as its row stores it. */
export interface TestOrder {
  readonly kind: string
  readonly params: object
}

/** The rows of one sort of peers: their sessions and their commands. Peers are known by names. */
export interface PeerRows<O extends TestOrder> {
  /** Creates the rows of a new peer that may connect, and has not yet. @returns Its name. */
  add(harness: GatewayHarness): Promise<string>
  /** The name of a peer without rows. */
  newName(): string
  /** The session that the peer had last. `recorded` are the facts of its hello. */
  session(
    harness: GatewayHarness,
    name: string,
  ): Promise<{ readonly epoch: string | null; readonly connected: boolean; readonly recorded: unknown } | undefined>
  queue(harness: GatewayHarness, name: string, order: O): Promise<string>
  command(harness: GatewayHarness, id: string): Promise<{ readonly state: string; readonly outcome: unknown }>
  /** The number of events that have reported the peer as down. */
  countDowns(harness: GatewayHarness, name: string): Promise<number>
}

/** The samples of links for the suite. */
export interface LinkSamples<O extends TestOrder> {
  readonly family: string
  /** The protocol, if the gateway does not already support it. */
  readonly protocol?: Protocol
  readonly rows: PeerRows<O>
  /** The facts that a connection records. */
  readonly recorded: unknown
  /** Commands that the peer can execute, one of each kind. */
  readonly orders: readonly O[]
  /** A command whose outcome is unknown when the connection breaks before the reply. */
  readonly losable: O
  /** True for a protocol whose replies belong to their connection: a command that lost it stays unknown. */
  readonly repliesEndWithLink?: boolean
  /** How long a peer may take to send its hello. */
  readonly helloMs: number
  /** Opens the connection of a peer that has not sent anything yet. */
  readonly open: (target: {
    readonly port: number
    readonly name: string
    readonly harness: GatewayHarness
  }) => Promise<TestPeer>
}

/** A gateway with a real database, and peers that connect to it. */
export interface LinkWorld<O extends TestOrder> {
  /** Only valid in tests. */
  readonly harness: () => GatewayHarness
  readonly start: () => Promise<RunningGateway>
  readonly connect: (gateway: RunningGateway, name: string) => Promise<TestPeer>
  readonly connectNew: (gateway: RunningGateway) => Promise<{ readonly name: string; readonly peer: TestPeer }>
  readonly queue: (name: string, order: O) => Promise<string>
  readonly untilCommand: (id: string, state: string) => Promise<unknown>
}

export function openLinkWorld<O extends TestOrder>({ family, protocol, rows, open }: LinkSamples<O>): LinkWorld<O> {
  let opened: GatewayHarness
  beforeAll(async () => {
    opened = await createGatewayHarness()
  })
  const epochOf = async (name: string) => (await rows.session(opened, name))?.epoch

  async function connect(gateway: RunningGateway, name: string): Promise<TestPeer> {
    const before = await epochOf(name)
    const peer = await open({ port: gateway.portOf(family), name, harness: opened })
    peer.hello()
    await waitUntil('the session', async () => (await epochOf(name)) !== before)
    return peer
  }

  return {
    harness: () => opened,
    start: () => opened.start(protocol === undefined ? {} : { protocols: [protocol] }),
    connect,
    async connectNew(gateway) {
      const name = await rows.add(opened)
      return { name, peer: await connect(gateway, name) }
    },
    queue: (name, order) => rows.queue(opened, name, order),
    untilCommand: (id, state) =>
      waitUntil(`command ${state}`, async () => {
        const command = await rows.command(opened, id)
        return command.state === state ? (command.outcome ?? {}) : null
      }),
  }
}

/** Tests the behavior of links that all protocols and all sorts of peers share, in a real gateway with a real database. */
export function describeLinks<O extends TestOrder>(samples: LinkSamples<O>, world: LinkWorld<O>): void {
  const { family, rows, recorded, orders, losable } = samples
  const { harness, start, connect, connectNew, queue, untilCommand } = world
  const untilDown = (name: string) =>
    waitUntil('disconnected', async () => (await rows.session(harness(), name))?.connected === false)

  describe(`a link of ${family}`, () => {
    test('records the connection, with what its peer has said of itself', async () => {
      const { name } = await connectNew(await start())
      expect(await rows.session(harness(), name)).toMatchObject({ connected: true, recorded })
    })

    test.each([...orders])('carries $kind, and what the peer replies', async (order) => {
      const { name, peer } = await connectNew(await start())
      const refused = await queue(name, order)
      const call = await peer.nextCall()
      call.refuse('not now')
      expect(await untilCommand(refused, 'rejected')).toMatchObject({ text: 'not now' })
      const accepted = await queue(name, order)
      const next = await peer.nextCall()
      if ('image_id' in order.params && order.kind !== 'activate')
        expect(next.text).toContain(`/firmware/${harness().orgId}/${accepted}/`)
      expect((await rows.command(harness(), accepted)).state).toBe('sent')
      next.accept()
      await untilCommand(accepted, 'done')
    })

    test('carries one command at a time', async () => {
      const { name, peer } = await connectNew(await start())
      const ids = [await queue(name, losable), await queue(name, losable)]
      const first = await peer.nextCall()
      expect((await rows.command(harness(), ids[1] ?? '')).state).toBe('queued')
      first.refuse('not now')
      ;(await peer.nextCall()).accept()
      expect(await untilCommand(ids[0] ?? '', 'rejected')).toMatchObject({ text: 'not now' })
      await untilCommand(ids[1] ?? '', 'done')
    })

    test('is closed when its peer has a newer one, which carries the commands from then on', async () => {
      const gateway = await start()
      const { name, peer } = await connectNew(gateway)
      const newer = await connect(gateway, name)
      await peer.closed
      const id = await queue(name, losable)
      ;(await newer.nextCall()).accept()
      await untilCommand(id, 'done')
      expect(await rows.session(harness(), name)).toMatchObject({ connected: true })
    })

    test('that breaks leaves the command in flight unknown, and its peer disconnected', async () => {
      const { name, peer } = await connectNew(await start())
      const id = await queue(name, losable)
      await peer.nextCall()
      peer.drop()
      expect(await untilCommand(id, 'unknown')).toEqual({ why: 'connection_lost' })
      await untilDown(name)
    })

    if (samples.repliesEndWithLink !== true)
      test('settles a command that was sent on a link before it', async () => {
        const gateway = await start()
        const { name, peer } = await connectNew(gateway)
        const id = await queue(name, losable)
        const call = await peer.nextCall()
        peer.drop()
        await untilCommand(id, 'unknown')
        const newer = await connect(gateway, name)
        newer.adopt(call).accept()
        await untilCommand(id, 'done')
      })

    test('is closed when its peer does not say hello in time', async () => {
      const gateway = await start()
      const name = rows.newName()
      const peer = await samples.open({ port: gateway.portOf(family), name, harness: harness() })
      harness().advance(samples.helloMs)
      await peer.closed
    })

    test('is closed when the gateway stops, without an event that the peer is down', async () => {
      const gateway = await start()
      const { name, peer } = await connectNew(gateway)
      await gateway.stop()
      await peer.closed
      expect(await rows.session(harness(), name)).toMatchObject({ connected: true })
      expect(await rows.countDowns(harness(), name)).toBe(0)
    })
  })
}
