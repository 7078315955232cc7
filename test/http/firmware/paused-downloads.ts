import { type IncomingMessage, get } from 'node:http'

/** Starts a download and reads nothing of it yet. */
export function begin(address: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(address, (response) => resolve(response.pause())).on('error', reject)
  })
}

/** Reads the rest of the response, and returns whether it is complete and how many bytes arrived. */
export function drain(response: IncomingMessage): Promise<{ complete: boolean; bytes: number }> {
  return new Promise((resolve) => {
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    response.on('error', () => {}) // `complete` distinguishes a complete response from an interrupted one.
    response.on('close', () => resolve({ complete: response.complete, bytes }))
    response.resume()
  })
}
