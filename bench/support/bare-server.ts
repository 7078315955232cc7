import Fastify from 'fastify'

/** The baseline: a plain Fastify server that sends the same answers. Its routes are JSON, in the first argument. */
interface BareRoute {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const routes = JSON.parse(process.argv[2] ?? '[]') as readonly BareRoute[]
const http = Fastify()
for (const { path, headers, body } of routes) http.get(path, (_request, reply) => reply.headers(headers).send(body))
const url = await http.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`bare ready ${url}\n`)

process.once('disconnect', () => process.exit(0))
process.once('SIGINT', () => process.exit(0))
