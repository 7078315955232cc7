import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Ends every response of a connection when the connection closes. A client may send requests before it reads answers, and
 * Node.js ends only the response that is being sent: those behind it would count as unfinished forever.
 */
export function endQueuedResponses<S extends Server>(server: S): S {
  const unfinished = new WeakMap<Socket, Set<ServerResponse>>()

  function responsesOf(socket: Socket): Set<ServerResponse> {
    const known = unfinished.get(socket)
    if (known !== undefined) return known
    const responses = new Set<ServerResponse>()
    unfinished.set(socket, responses)
    // After the listeners of Node.js, which end the first one.
    socket.once('close', () => process.nextTick(endAll, responses))
    return responses
  }

  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const responses = responsesOf(socket)
    responses.add(response)
    response.once('close', () => responses.delete(response))
  })
  return server
}

function endAll(responses: ReadonlySet<ServerResponse>): void {
  for (const response of responses) {
    response.destroy()
    response.emit('close')
  }
}
