package harness

// Another is the target in one more process, which shares nothing with the
// first but Redis. It ends with the case, or when end is called: what the
// process after it does is what a restart does.
func (t *T) Another() (p *Provider, end func()) {
	another, err := t.run.config.Target.Another(t.ctx)
	if err != nil {
		t.trouble(err)
	}
	t.Cleanup(func() { another.Close() })
	return &Provider{t: t, name: "another process of the target", target: another}, func() { another.Close() }
}
