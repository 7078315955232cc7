import { readFileSync } from 'node:fs'
import { WebSocket } from 'ws'
import { decodeFrame, encodeNotification } from '../../../src/gateway/websockets/jsonrpc.ts'

// A device as a program: it connects, prints the method of the first call that it gets, and ends.

const { port, ca, mac, certificatePem, keyPem } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const socket = new WebSocket(`wss://127.0.0.1:${port}/`, 'ucentral-broker', { ca, cert: certificatePem, key: keyPem })
const capabilities = { compatible: 'test_model', platform: 'ap' }
socket.on('open', () =>
  socket.send(encodeNotification('connect', { serial: mac, uuid: 1, firmware: '1.0.0', capabilities })),
)
socket.on('message', (data: Buffer) => {
  const frame = decodeFrame(data.toString('utf8'))
  if (frame.kind !== 'call') return
  process.stdout.write(`${frame.method}\n`)
  process.exit()
})
