// The transport against software of others: OpenSSH's server on a connection that it did not accept itself, with netconfd
// behind it. That proves SSH, host keys, both framings and errors; netconfd is not a Junos device.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { freePorts } from '../../soak/support/free-ports.ts'
import { fingerprintOf } from '../../src/devices/call-home/fingerprint.ts'
import { Allowance } from '../../src/gateway/admission/allowance.ts'
import { NetconfSession } from '../../src/gateway/netconf/session.ts'
import { SshError, type SshOptions, openSsh } from '../../src/gateway/netconf/ssh.ts'
import type { Rpc, RpcReply } from '../../src/gateway/netconf/rpc.ts'
import { childOf } from '../../src/gateway/netconf/xml.ts'
import { createTurns } from '../../src/gateway/admission/turns.ts'
import { generateHostKey } from '../../src/simulator/junos/host-key.ts'
import { waitUntil } from '../support/wait-until.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { afterFile } from '../support/after-file.ts'

const SSHD = '/usr/sbin/sshd'
const NETCONFD = '/usr/sbin/netconfd'
const SUBSYSTEM = '/usr/sbin/netconf-subsystem'
const isInstalled = [SSHD, NETCONFD, SUBSYSTEM].every((path) => existsSync(path)) && userInfo().uid === 0

describe.skipIf(!isInstalled)(
  'OpenSSH and netconfd, which call home (as root, with openssh-server and netconfd)',
  () => {
    const hostKey = generateHostKey()
    const userKey = generateHostKey()
    const hostBlob = hostKey.public.split(' ')[1] ?? ''
    const broken: string[] = []
    let folder: string
    let devicePort: number
    let daemon: ReturnType<typeof spawn>

    beforeAll(async () => {
      folder = await temporaryDir(afterFile)
      ;[devicePort = 0] = await freePorts(1)
      await writeFile(join(folder, 'host'), hostKey.private, { mode: 0o600 })
      await writeFile(join(folder, 'authorized'), `${userKey.public}\n`, { mode: 0o600 })
      const sockname = join(folder, 'ncxserver.sock')
      const script = join(folder, 'subsystem')
      await writeFile(script, `#!/bin/sh\nexec ${SUBSYSTEM} --ncxserver-sockname=${devicePort}@${sockname}\n`)
      await chmod(script, 0o755)
      // OpenSSH demands the folder of its unprivileged part, which its service usually makes.
      await mkdir('/run/sshd', { recursive: true })
      const config = [
        `HostKey ${join(folder, 'host')}`,
        `AuthorizedKeysFile ${join(folder, 'authorized')}`,
        `Subsystem netconf ${script}`,
        'StrictModes no',
        'UsePAM no',
        'PermitRootLogin prohibit-password',
        'PasswordAuthentication no',
      ]
      await writeFile(join(folder, 'sshd'), `${config.join('\n')}\n`)
      daemon = spawn(
        NETCONFD,
        [
          `--ncxserver-sockname=${sockname}`,
          `--port=${devicePort}`,
          `--superuser=${userInfo().username}`,
          '--no-startup',
          '--log-level=error',
        ],
        { stdio: 'ignore', cwd: folder },
      )
      await waitUntil('netconfd', () => existsSync(sockname))
    })
    afterAll(async () => {
      const exited = once(daemon, 'exit')
      daemon.kill('SIGKILL')
      await exited
    })

    /** OpenSSH opens a connection to the gateway's side. Netconfd checks the port from which it comes. */
    async function callHome(): Promise<Socket> {
      const accepted = Promise.withResolvers<Socket>()
      const listener = createServer({ pauseOnConnect: true }, (socket) => accepted.resolve(socket))
      await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve))
      const { port } = listener.address() as AddressInfo
      const outgoing = connect({ port, host: '127.0.0.1', localPort: devicePort })
      await new Promise((resolve) => void outgoing.once('connect', resolve))
      outgoing.pause()
      const sshd = spawn(SSHD, ['-i', '-f', join(folder, 'sshd'), '-E', join(folder, 'log')], {
        stdio: [outgoing, outgoing, 'ignore'],
      })
      const socket = await accepted.promise
      listener.close()
      outgoing.destroy()
      onTestFinished(async () => {
        socket.resetAndDestroy()
        sshd.kill('SIGKILL')
        await waitUntil('the end of sshd', () => sshd.exitCode !== null || sshd.signalCode !== null)
      })
      return socket
    }

    async function open(more: Partial<SshOptions> = {}) {
      return openSsh({
        socket: await callHome(),
        user: userInfo().username,
        privateKey: userKey.private,
        hostKey: hostBlob,
        isKnown: () => Promise.resolve(false),
        ...more,
      })
    }

    /**
     * Netconfd loses a request that it reads at once with the hello before it. Such a device is late: the gateway closes
     * the session, and the device calls home again.
     */
    async function askUntilAnswered(rpc: Rpc): Promise<{ session: NetconfSession; first: RpcReply }> {
      for (;;) {
        const session = await greet()
        const answer: { reply?: RpcReply } = {}
        void session.request({ rpc, timeoutMs: 1000 }).then((reply) => (answer.reply = reply))
        await waitUntil(
          'an answer, or its deadline',
          () => answer.reply !== undefined || session.isLate(performance.now()),
        )
        if (answer.reply !== undefined) return { session, first: answer.reply }
        session.close()
      }
    }

    /** A session in which both sides have sent their hello. */
    async function greet(): Promise<NetconfSession> {
      const connection = await open()
      expect(connection.fingerprint).toBe(fingerprintOf(Buffer.from(hostBlob, 'base64')))
      const now = (): number => performance.now()
      const session = new NetconfSession(connection, {
        now,
        turns: createTurns(now),
        allowance: new Allowance(now()),
        onClosed: () => undefined,
        onBroken: (why) => broken.push(why),
      })
      expect({ ready: await session.ready, broken }).toEqual({ ready: true, broken: [] })
      return session
    }

    test('speak NETCONF in chunks, and answer unknown requests with an error', async () => {
      const { session, first } = await askUntilAnswered({ name: 'get-system-information', content: true })
      expect(first).toMatchObject({ kind: 'error', text: 'definition not found' })
      const config = await session.request({
        rpc: { name: 'get-config', content: { source: { running: true } } },
        timeoutMs: 1000,
      })
      expect(config.kind === 'ok' && childOf(config.root, 'data') !== undefined).toBe(true)
      session.close()
      expect(broken).toEqual([])
    })

    test('are known by their host key where nothing announced it', async () => {
      const asked: string[] = []
      const isKnown = (fingerprint: string): Promise<boolean> => {
        asked.push(fingerprint)
        return Promise.resolve(true)
      }
      const connection = await open({ hostKey: null, isKnown })
      expect(asked).toEqual([connection.fingerprint])
      connection.end()
    })

    test('are refused when their host key is another one than announced, or unknown', async () => {
      const other = generateHostKey().public.split(' ')[1] ?? ''
      await expect(open({ hostKey: other })).rejects.toMatchObject({ why: 'host_key' })
      await expect(open({ hostKey: null })).rejects.toBeInstanceOf(SshError)
    })

    test('refuse another key', async () => {
      const { private: privateKey } = generateHostKey()
      await expect(open({ privateKey })).rejects.toMatchObject({ why: 'ssh' })
    })
  },
)
