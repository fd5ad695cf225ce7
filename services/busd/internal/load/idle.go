package load

// idle measures memory: of a bus that has had one client, which is gone, and
// what each of Count more adds that have said hello and do nothing.
func idle(r *run) error {
	// One has been there: what a bus sets up for its first client is no
	// connection's.
	c, err := r.dial(little, false)
	if err != nil {
		return err
	}
	c.close()
	alone, err := r.bus.Memory()
	if err != nil {
		return err
	}
	helpers, err := r.bus.Helpers()
	if err != nil {
		return err
	}
	if err := r.start(); err != nil {
		return err
	}
	cs, err := r.dialMany(r.size.Count, little)
	if err != nil {
		return err
	}
	defer closeAll(cs)
	if err := r.stop(); err != nil {
		return err
	}
	crowded, err := r.bus.Memory()
	if err != nil {
		return err
	}
	r.result.Figures[IdleMemory] = float64(alone.Now >> 10)
	r.result.Figures[HelperMemory] = float64(helpers >> 10)
	r.result.Figures[PerConnection] = float64(crowded.Now-alone.Now) / float64(r.size.Count)
	return nil
}
