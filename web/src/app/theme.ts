import { createTheme } from '@mantine/core'

/** What components need beside the colours in colors.css. */
export const theme = createTheme({
  respectReducedMotion: true,
  cursorType: 'pointer',
  components: {
    // Every field of the forms is required, unless its label says otherwise.
    InputWrapper: { defaultProps: { withAsterisk: false } },
    Modal: { defaultProps: { transitionProps: { duration: 0 }, closeButtonProps: { 'aria-label': 'Close' } } },
  },
})
