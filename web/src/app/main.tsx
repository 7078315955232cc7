import '@mantine/core/styles/default-css-variables.css'
import '@mantine/core/styles/baseline.css'
import '@mantine/core/styles/global.css'
import '@mantine/core/styles/UnstyledButton.css'
import '@mantine/core/styles/VisuallyHidden.css'
import '@mantine/core/styles/Paper.css'
import '@mantine/core/styles/CloseButton.css'
import '@mantine/core/styles/ActionIcon.css'
import '@mantine/core/styles/Overlay.css'
import '@mantine/core/styles/ModalBase.css'
import '@mantine/core/styles/Loader.css'
import '@mantine/core/styles/Button.css'
import '@mantine/core/styles/Input.css'
import '@mantine/core/styles/PasswordInput.css'
import '@mantine/core/styles/Modal.css'
import '@mantine/core/styles/Popover.css'
import '@mantine/core/styles/Combobox.css'
import './colors.css'
import './app.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { readSelf } from '../accounts/self.ts'
import { ServerContext, createApi } from '../api/client.ts'
import { csrfTokenIn } from '../api/csrf.ts'
import { isAwayStatus } from '../api/problem.ts'
import { createReachability } from '../api/reachability.ts'
import { createPageSession } from '../api/session.ts'
import { browserStream } from '../api/stream.ts'
import { UnsavedContext } from '../display/forms/leave-guard.tsx'
import { createUnsaved } from '../display/forms/unsaved.ts'
import { createQueries } from './queries.ts'
import { pauseWithoutSession } from './pause-without-session.ts'
import { createConsoleRouter } from './router.tsx'
import { theme } from './theme.ts'

const PROBE_LIMIT_MS = 10_000
const reachability = createReachability({
  async probe() {
    const answer = await api.GET('/api/v1/self', { signal: AbortSignal.timeout(PROBE_LIMIT_MS) }).catch(() => null)
    return answer !== null && !isAwayStatus(answer.response.status)
  },
  schedule: (run, ms) => setTimeout(run, ms),
})
// Otherwise a page would only notice at its next request, while it looks up to date.
globalThis.addEventListener('offline', () => reachability.suspect())
const unsaved = createUnsaved()
const session = createPageSession({
  readToken: () => csrfTokenIn(document.cookie),
  readPerson: async () => (await readSelf(api)).admin_id,
  discard() {
    unsaved.release()
    globalThis.location.reload()
  },
})
const api = createApi({ reachability, token: session.token })
const server = { api, reachability, session, stream: browserStream(() => reachability.suspect()) }
const queries = createQueries(session)
const router = createConsoleRouter({ api, queries })
// It hears the keys before all that is listening on the page.
pauseWithoutSession(server, queries)

const root = document.querySelector('#root')
if (root !== null) {
  createRoot(root).render(
    // The policy of the page forbids style elements: the variables are those of the style sheets.
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
      deduplicateCssVariables={false}
    >
      <ServerContext value={server}>
        <QueryClientProvider client={queries}>
          <UnsavedContext value={unsaved}>
            <RouterProvider router={router} />
          </UnsavedContext>
        </QueryClientProvider>
      </ServerContext>
    </MantineProvider>,
  )
}
