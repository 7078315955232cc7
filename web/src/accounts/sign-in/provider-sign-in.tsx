import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { answerOf, useServer } from '../../api/client.ts'
import { ProblemNote } from '../../display/layout/notices.tsx'
import { providerName } from '../provider-name.ts'
import { providersQuery } from '../providers.ts'
import { returnPath } from '../return-path.ts'

/** A button for each OAuth provider that the server is set up for. */
export function ProviderButtons({ given }: { readonly given: string | undefined }) {
  const { api } = useServer()
  const { data } = useQuery(providersQuery(api))
  const start = useMutation({
    mutationFn: (provider: string) => {
      const { origin } = globalThis.location
      const query = new URLSearchParams({ provider, return: returnPath(given, origin) }).toString()
      const params = { path: { provider }, query: { forward: `${origin}/sign-in?${query}` } }
      return answerOf(api.GET('/api/v1/login/oauth/{provider}', { params }))
    },
    onSuccess: ({ authorization_url: url }) => globalThis.location.assign(url),
  })
  if (data === undefined || data.providers.length === 0) return null
  return (
    <div className="providers">
      {data.providers.map((provider) => (
        <Button
          key={provider}
          variant="default"
          fullWidth
          isBusy={start.isPending && start.variables === provider}
          onClick={() => start.mutate(provider)}
        >
          Sign in with {providerName(provider)}
        </Button>
      ))}
      <ProblemNote problem={start.error} />
    </div>
  )
}

interface ProviderAnswerProps {
  readonly provider: string
  /** The server's code for the answer of the provider. It works once. */
  readonly code: string
  readonly onDone: () => Promise<void>
  readonly onCode: () => void
}

/** Completes the sign-in of a person who comes back from a provider. */
export function ProviderAnswer({ provider, code, onDone, onCode }: ProviderAnswerProps) {
  const { api } = useServer()
  const { mutate, error, isPending } = useMutation({
    mutationFn: () =>
      answerOf(api.POST('/api/v1/login/oauth/{provider}', { params: { path: { provider } }, body: { code } })),
    onSuccess: (result) => (result.two_factor_required === true ? onCode() : onDone()),
  })
  const isSent = useRef(false)
  useEffect(() => {
    if (isSent.current) return
    isSent.current = true
    mutate()
  }, [mutate])
  if (isPending) return <p role="status">{providerName(provider)} has signed you in…</p>
  return <ProblemNote problem={error} />
}
